//! 500 jobs while the only GPU worker stands still: what waits in Redis never exceeds its budget, and once the worker goes
//! on, every job is proved and nothing is left.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::harness::{Cluster, JOB_LIMIT, PROCESS_LIMIT, wait_until};

const JOBS: usize = 500;

/// Room for about 20 of the assignments, 32 KB each: less than the lookahead allows.
const BUDGET_BYTES: u64 = 1 << 20;

/// Time between two looks at the server's memory.
const LOOK: Duration = Duration::from_millis(20);

#[test]
fn a_paused_gpu_worker_fills_no_memory() {
    let cluster = Cluster::new(None)
        .with("PROOFMILL_COORDINATOR__PAYLOAD_BUDGET", "1MiB")
        .with("PROOFMILL_COORDINATOR__LOOKAHEAD", "64");
    let _coordinator = cluster.start_coordinator("coordinator");
    let gpu = cluster.start("gpu-worker", "gpu-0");
    let _synth = cluster.start("synth-worker", "synth-0");
    cluster.wait_for_workers(2);
    gpu.signal("-STOP");

    let (peak, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                peak.fetch_max(cluster.redis.assignment_bytes(), Ordering::Relaxed);
                std::thread::park_timeout(LOOK);
            }
        });
        let over = OnDrop(&is_over);
        let jobs: Vec<String> = (0..JOBS)
            .map(|index| cluster.submit("chain-1k", format!(r#"{{"start": {index}}}"#).into()))
            .collect();
        // Reservations are a third larger than what an assignment takes in the end.
        wait_until("the budget is used", PROCESS_LIMIT, || {
            (peak.load(Ordering::Relaxed) > BUDGET_BYTES / 10 * 6).then_some(())
        });
        gpu.signal("-CONT");
        for job in &jobs {
            assert_eq!(cluster.wait_for(job), "succeeded", "job {job}");
        }
        drop(over);
    });
    let peak = peak.into_inner();
    assert!(peak <= BUDGET_BYTES, "{peak} bytes of payload at a time");
    wait_until("nothing is left in the broker", JOB_LIMIT, || {
        (cluster.redis.assignment_bytes() == 0).then_some(())
    });
}

/// Raises a flag when dropped: also where an assertion failed, so that the thread beside it ends.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
