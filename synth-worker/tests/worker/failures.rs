//! Inputs and programs at fault: what the coordinator is told, and what goes on.

use proofmill_shared::membership::exit_on_panic;
use proofmill_shared::protocol::{FailureKind, Unit, WorkerEvent};
use proofmill_shared::telemetry::{TimelineEvent, fields};

use crate::bench::Bench;
use crate::programs::{CONTRADICT, Gate, LIE, PANIC, PARALLEL_PANIC, registry};

async fn bench() -> Bench {
    Bench::start(registry(&Gate::default())).await
}

#[actix::test]
async fn an_unsatisfied_circuit_rejects_the_job_and_names_the_constraint() {
    let mut bench = bench().await;
    let job = bench.submit("moody", LIE.to_string().as_bytes()).await;
    let key = bench.assign(&job, Unit::Partition(1), 1).await;
    let events = bench.events_of(key).await;
    let ending = events.last().unwrap();
    let WorkerEvent::Failed(failure) = &ending.event else {
        panic!("expected a failure: {ending:?}");
    };
    assert_eq!(failure.kind, FailureKind::Rejected);
    assert_eq!(failure.code, "unsatisfied-constraint");
    assert!(failure.message.contains("partition 1"), "{failure:?}");
    assert!(failure.message.contains("constraint 1 "), "{failure:?}");
    let last = ending.timeline.last().unwrap();
    assert_eq!(last.event, TimelineEvent::SynthEnd);
    assert_eq!(last.fields[fields::ERROR], "unsatisfied-constraint");
    let used = bench.broker.payload_usage().await.unwrap().used_bytes;
    let input_bytes = LIE.to_string().len() as u64;
    assert_eq!(used, input_bytes, "nothing was shipped");
}

#[actix::test]
async fn a_malformed_input_rejects_the_job_at_its_plan() {
    let mut bench = bench().await;
    let job = bench.submit("moody", b"seven").await;
    let key = bench.assign(&job, Unit::Plan, 1).await;
    let failure = bench.failed(key).await;
    assert_eq!(failure.kind, FailureKind::Rejected);
    assert_eq!(failure.code, "malformed-input");
}

#[actix::test]
async fn a_panic_in_a_circuit_fails_its_task_and_nothing_else() {
    exit_on_panic();
    let mut bench = bench().await;
    for mood in [PANIC, PARALLEL_PANIC, PANIC, PARALLEL_PANIC] {
        let job = bench.submit("moody", mood.to_string().as_bytes()).await;
        let key = bench.assign(&job, Unit::Partition(0), 1).await;
        let failure = bench.failed(key).await;
        assert_eq!(failure.kind, FailureKind::Attempt);
        assert_eq!(failure.code, "circuit-panicked");
        assert!(!failure.message.contains("mood"), "{failure:?}");
    }
    let job = bench.submit("moody", b"7").await;
    let key = bench.assign(&job, Unit::Partition(0), 1).await;
    assert!(matches!(
        bench.ended(key).await,
        WorkerEvent::Shipped { .. }
    ));
}

#[actix::test]
async fn a_program_that_contradicts_itself_is_stopped_before_shipping() {
    let mut bench = bench().await;
    let input = CONTRADICT.to_string();
    let job = bench.submit("moody", input.as_bytes()).await;
    let key = bench.assign(&job, Unit::Partition(0), 1).await;
    let failure = bench.failed(key).await;
    assert_eq!(failure.kind, FailureKind::Attempt);
    assert_eq!(failure.code, "inconsistent-program");
}

#[actix::test]
async fn a_circuit_that_is_not_here_is_left_to_other_workers() {
    let mut bench = bench().await;
    let job = bench.submit("sha512", b"").await;
    let key = bench.assign(&job, Unit::Plan, 1).await;
    let failure = bench.failed(key).await;
    assert_eq!(failure.kind, FailureKind::Infrastructure);
    assert!(failure.message.contains("moody@1"), "{failure:?}");
}

#[actix::test]
async fn a_missing_proof_fails_the_finish() {
    let mut bench = bench().await;
    let job = bench.submit("moody", b"7").await;
    let key = bench.assign(&job, Unit::Finish, 1).await;
    let failure = bench.failed(key).await;
    assert_eq!(failure.code, "proof-missing");
}
