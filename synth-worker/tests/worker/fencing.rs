//! Tasks that were taken back, cancelled, or delivered twice.

use proofmill_shared::broker::PayloadKey;
use proofmill_shared::protocol::{Control, Unit, WorkerEvent};

use crate::bench::Bench;
use crate::programs::{Gate, WAIT, registry};

#[actix::test]
async fn a_task_under_an_old_token_is_dropped_without_a_word() {
    let mut bench = Bench::start(registry(&Gate::default())).await;
    let job = bench.submit("moody", b"7").await;
    bench.grant(&job, Unit::Partition(0), 2).await;
    bench.post(&job, Unit::Partition(0), 1).await;
    let current = bench.post(&job, Unit::Partition(0), 2).await;
    assert!(matches!(
        bench.ended(current).await,
        WorkerEvent::Shipped { .. }
    ));
    bench.expect_silence().await;
}

#[actix::test]
async fn a_token_raised_during_synthesis_refuses_the_payload() {
    let gate = Gate::default();
    let mut bench = Bench::start(registry(&gate)).await;
    let job = bench.submit("moody", WAIT.to_string().as_bytes()).await;
    let late = bench.assign(&job, Unit::Partition(0), 1).await;
    assert_eq!(bench.any_event().await.event, WorkerEvent::Started);
    bench.grant(&job, Unit::Partition(0), 2).await;
    gate.open();
    let sending = bench.any_event().await;
    assert_eq!(sending.key, late);
    assert!(matches!(sending.event, WorkerEvent::Sending { .. }));
    let current = bench.post(&job, Unit::Partition(0), 2).await;
    // The payload of the late attempt is gone before the slot takes the next task.
    let shipped = bench.ended(current).await;
    assert!(matches!(shipped, WorkerEvent::Shipped { .. }));
    bench.expect_silence().await;
}

#[actix::test]
async fn a_cancelled_task_ships_nothing() {
    let gate = Gate::default();
    let mut bench = Bench::start(registry(&gate)).await;
    let job = bench.submit("moody", WAIT.to_string().as_bytes()).await;
    bench.assign(&job, Unit::Partition(0), 1).await;
    assert_eq!(bench.any_event().await.event, WorkerEvent::Started);
    bench.order(Control::CancelJob { job: job.id }).await;
    // The worker's readers run on this thread: what is ready runs before this wait ends.
    bench.expect_silence().await;
    gate.open();
    bench.expect_silence().await;
    let key = PayloadKey {
        job: job.id,
        partition: 0,
        attempt: 1,
    };
    let mut payload = bench.broker.open_payload(&key).await.unwrap();
    let entries = payload.read(std::time::Duration::from_millis(1)).await;
    assert!(entries.unwrap().is_empty());
}
