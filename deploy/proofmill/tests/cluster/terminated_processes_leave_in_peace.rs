//! SIGTERM: a process takes no more work, hands back or finishes what it holds, and exits 0.

use crate::harness::{Cluster, PROCESS_LIMIT, files, items, wait_until};

#[test]
fn terminated_processes_leave_in_peace() {
    let cluster = Cluster::new(None);
    let mut coordinator = cluster.start_coordinator("coordinator");
    let mut synth = cluster.start("synth-worker", "synth-0");
    let mut gpu = cluster.start("gpu-worker", "gpu-0");
    cluster.wait_for_workers(2);
    let files = files(3);
    let jobs: Vec<String> = files
        .iter()
        .map(|file| cluster.submit("sha256", file.clone()))
        .collect();

    gpu.signal("-TERM");
    assert!(gpu.wait().success(), "{}", gpu.log());
    wait_until("the GPU worker is gone", PROCESS_LIMIT, || {
        let workers = cluster.get("/v1/workers")?;
        (items(&workers, "workers").len() == 1).then_some(())
    });
    let _next = cluster.start("gpu-worker", "gpu-1");
    for (job, file) in jobs.iter().zip(&files) {
        cluster.assert_proved(job, file);
    }
    synth.signal("-TERM");
    assert!(synth.wait().success(), "{}", synth.log());
    coordinator.signal("-TERM");
    assert!(coordinator.wait().success(), "{}", coordinator.log());
}
