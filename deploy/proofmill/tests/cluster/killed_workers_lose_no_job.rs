//! A synth worker and a GPU worker killed while they work: every job still ends with a valid proof.

use crate::harness::{Cluster, PROCESS_LIMIT, files, items, tier, wait_until};

#[test]
fn killed_workers_lose_no_job() {
    let cluster = Cluster::new(None);
    let _coordinator = cluster.start_coordinator("coordinator");
    let mut synth = ["synth-0", "synth-1", "synth-2"].map(|id| cluster.start("synth-worker", id));
    let mut gpu = ["gpu-0", "gpu-1"].map(|id| cluster.start("gpu-worker", id));
    cluster.wait_for_workers(5);
    let files = files(tier(8, 50));
    let jobs: Vec<String> = files
        .iter()
        .map(|file| cluster.submit("sha256", file.clone()))
        .collect();

    let is_busy = |id: &str| {
        let workers = cluster.get("/v1/workers")?;
        let worker = items(&workers, "workers")
            .iter()
            .find(|worker| worker["record"]["id"] == id)?
            .clone();
        (worker["assigned"].as_u64()? > 0).then_some(())
    };
    wait_until("a synth worker works", PROCESS_LIMIT, || is_busy("synth-0"));
    synth[0].kill();
    wait_until("a GPU worker works", PROCESS_LIMIT, || is_busy("gpu-0"));
    gpu[0].kill();

    for (job, file) in jobs.iter().zip(&files) {
        cluster.assert_proved(job, file);
    }
}
