//! A worker that is asked to stop.

use std::time::Duration;

use proofmill_shared::protocol::{Unit, WorkerEvent};

use crate::bench::Bench;
use crate::programs::{Gate, WAIT, registry};

#[actix::test]
async fn what_started_is_finished_and_what_did_not_is_handed_back() {
    let gate = Gate::default();
    let mut bench = Bench::start(registry(&gate)).await;
    let job = bench.submit("moody", WAIT.to_string().as_bytes()).await;
    let running = bench.assign(&job, Unit::Partition(0), 1).await;
    assert_eq!(bench.any_event().await.event, WorkerEvent::Started);
    let waiting = bench.assign(&job, Unit::Partition(1), 1).await;
    bench.wait_for_held(2).await;
    let opened = gate.clone();
    let (is_empty, ()) = tokio::join!(bench.worker.drain(Duration::from_secs(30)), async {
        // The drain has begun: it is polled first.
        opened.open();
    });
    assert!(is_empty);
    let shipped = bench.ended(running).await;
    assert!(matches!(shipped, WorkerEvent::Shipped { .. }));
    assert_eq!(bench.ended(waiting).await, WorkerEvent::Released);
    assert!(bench.broker.workers().await.unwrap().is_empty());
}

#[actix::test]
async fn a_drain_ends_at_its_limit() {
    let gate = Gate::default();
    let mut bench = Bench::start(registry(&gate)).await;
    let job = bench.submit("moody", WAIT.to_string().as_bytes()).await;
    bench.assign(&job, Unit::Partition(0), 1).await;
    assert_eq!(bench.any_event().await.event, WorkerEvent::Started);
    assert!(!bench.worker.drain(Duration::from_millis(50)).await);
    assert!(bench.broker.workers().await.unwrap().is_empty());
    gate.open();
}
