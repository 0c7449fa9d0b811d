//! Fetches within a memory budget.

use super::*;
use crate::broker::{BrokerHandle, MemoryBroker, MemoryConfig};
use crate::config::ByteSize;
use crate::protocol::FailureKind;

/// A broker that holds an assignment, and its facts.
async fn shipped(assignment: &Arc<Assignment>) -> (BrokerHandle, AssignmentFacts) {
    let broker: BrokerHandle = MemoryBroker::start(MemoryConfig::default());
    AssignmentPublisher::new(Arc::clone(&broker))
        .publish(
            key(),
            shape(),
            Arc::clone(assignment),
            || async {},
            || false,
        )
        .await
        .unwrap();
    (broker, facts_of(assignment))
}

fn budget_of(bytes: u64) -> AssignmentBudget {
    // Shares are rounded up to whole permits.
    AssignmentBudget::new(ByteSize::bytes(bytes + (1 << 16)))
}

#[tokio::test]
async fn an_assignment_that_can_never_fit_is_left_to_other_workers() {
    let (broker, facts) = shipped(&mixed(4, 10_000, 40.0)).await;
    let budget = AssignmentBudget::new(ByteSize::bytes(100_000));
    let fetcher = AssignmentFetcher::new(broker).within(budget, PayloadMode::Witness);
    let error = fetcher.fetch(facts, None, || false).await.unwrap_err();
    let failure = error.failure();
    assert_eq!(failure.kind, FailureKind::Infrastructure);
    assert_eq!(failure.code, "memory-too-small");
    assert!(failure.message.contains("100000"), "{}", failure.message);
}

#[tokio::test]
async fn a_prefetch_waits_until_the_assignment_before_it_is_gone() {
    let assignment = mixed(4, 10_000, 40.0);
    let (broker, facts) = shipped(&assignment).await;
    let budget = budget_of(facts.fetching_bytes(PayloadMode::Witness));
    let fetcher = AssignmentFetcher::new(broker).within(budget.clone(), PayloadMode::Witness);
    let first = fetcher.fetch(facts, None, || false).await.unwrap();
    let second = tokio::spawn({
        let fetcher = fetcher.clone();
        async move { fetcher.fetch(facts, None, || false).await }
    });
    tokio::task::yield_now().await;
    assert!(!second.is_finished());
    fetcher.recycle(first.assignment);
    drop(first.share);
    let second = second.await.unwrap().unwrap();
    assert!(second.assignment == *assignment);
    drop(second.share);
    assert!(budget.free_bytes() >= facts.fetching_bytes(PayloadMode::Witness));
}

#[tokio::test]
async fn evaluations_that_nobody_expected_come_only_into_free_memory() {
    let mut assignment = Assignment::clone(&mixed(4, 10_000, 40.0));
    assignment.evaluations = Some(Evaluations {
        a: assignment.aux.clone(),
        b: assignment.aux.clone(),
    });
    let assignment = Arc::new(assignment);
    let (broker, facts) = shipped(&assignment).await;
    for (expected, fits) in [
        (PayloadMode::Witness, false),
        (PayloadMode::Evaluated, true),
    ] {
        let budget = budget_of(facts.fetching_bytes(expected));
        let fetcher =
            AssignmentFetcher::new(Arc::clone(&broker)).within(budget, PayloadMode::Witness);
        let fetched = fetcher.fetch(facts, None, || false).await;
        match fetched {
            Ok(fetched) => assert!(fits && fetched.assignment == *assignment),
            Err(error) => assert!(
                !fits && error.failure().code == "memory-too-small",
                "{error}"
            ),
        }
    }
}
