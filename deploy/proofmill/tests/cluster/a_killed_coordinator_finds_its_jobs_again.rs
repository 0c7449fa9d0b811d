//! The coordinator is killed while workers work: the next one rebuilds every job and finds what arrived meanwhile.

use crate::harness::{Cluster, files, tier};

#[test]
fn a_killed_coordinator_finds_its_jobs_again() {
    let cluster = Cluster::new(None);
    let mut first = cluster.start_coordinator("coordinator-0");
    let _synth = cluster.start("synth-worker", "synth-0");
    let _gpu = cluster.start("gpu-worker", "gpu-0");
    cluster.wait_for_workers(2);
    let files = files(tier(4, 20));
    let jobs: Vec<String> = files
        .iter()
        .map(|file| cluster.submit("sha256", file.clone()))
        .collect();
    first.kill();

    let _second = cluster.start_coordinator("coordinator-1");
    for (job, file) in jobs.iter().zip(&files) {
        cluster.assert_proved(job, file);
    }
}
