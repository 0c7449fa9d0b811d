//! What of an assignment travels: the witness alone, or the evaluations of its constraints too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proofmill_shared::assignment::{
    AssignmentBudget, AssignmentFacts, BudgetError, BudgetShare, PayloadMode, ShippedReport,
};
use proofmill_shared::config::HandoffChoice;

/// Weight of the rate known so far against a new measurement.
const RATE_MEMORY: u64 = 7;

/// Chooses the mode of every assignment, and remembers how fast they leave. Clones share that.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handoff {
    choice: HandoffChoice,
    /// Bytes a second; 0 until one was sent.
    rate: Arc<AtomicU64>,
    budget: AssignmentBudget,
}

impl Handoff {
    pub(crate) fn new(choice: HandoffChoice, budget: AssignmentBudget) -> Self {
        Self {
            choice,
            rate: Arc::default(),
            budget,
        }
    }

    /// Waits for the memory that an assignment takes as it must travel at least.
    pub(crate) async fn reserve(
        &self,
        facts: &AssignmentFacts,
        needs_evaluations: bool,
        is_cancelled: impl Fn() -> bool,
    ) -> Result<BudgetShare, BudgetError> {
        let must_have = match self.choice {
            HandoffChoice::Witness => false,
            HandoffChoice::Evaluated => true,
            HandoffChoice::Auto => needs_evaluations,
        };
        let mode = if must_have {
            PayloadMode::Evaluated
        } else {
            PayloadMode::Witness
        };
        let bytes = facts.shipping_bytes(mode);
        self.budget.reserve(bytes, is_cancelled).await
    }

    /// What shall travel of an assignment, whose evaluations take a GPU worker about as long as `evaluate_time` to compute.
    /// Evaluations that nobody needs go only if `share` can grow by them at once.
    pub(crate) fn mode(
        &self,
        facts: &AssignmentFacts,
        needs_evaluations: bool,
        evaluate_time: Duration,
        share: &mut BudgetShare,
    ) -> PayloadMode {
        let bytes = facts.shipping_bytes(PayloadMode::Evaluated);
        match self.choice {
            HandoffChoice::Witness => PayloadMode::Witness,
            HandoffChoice::Evaluated => PayloadMode::Evaluated,
            HandoffChoice::Auto if needs_evaluations => PayloadMode::Evaluated,
            HandoffChoice::Auto
                if self.is_sooner_sent(facts, evaluate_time)
                    && share.try_grow_to(bytes).is_ok() =>
            {
                PayloadMode::Evaluated
            }
            HandoffChoice::Auto => PayloadMode::Witness,
        }
    }

    /// True if the evaluations, at 32 bytes each, would arrive before a GPU worker has computed them.
    fn is_sooner_sent(&self, facts: &AssignmentFacts, evaluate_time: Duration) -> bool {
        let extra_bytes =
            facts.raw_bytes(PayloadMode::Evaluated) - facts.raw_bytes(PayloadMode::Witness);
        match self.rate.load(Ordering::Relaxed) {
            0 => false,
            rate => {
                let micros = u128::from(extra_bytes) * 1_000_000 / u128::from(rate);
                micros < evaluate_time.as_micros()
            }
        }
    }

    /// Learns how fast an assignment left.
    pub(crate) fn sent(&self, report: &ShippedReport) {
        let micros = report.send_time.as_micros().max(1);
        let measured = u128::from(report.sizes.bytes) * 1_000_000 / micros;
        let measured = u64::try_from(measured).unwrap_or(u64::MAX).max(1);
        let known = self.rate.load(Ordering::Relaxed);
        let learned = match known {
            0 => measured,
            known => known / (RATE_MEMORY + 1) * RATE_MEMORY + measured / (RATE_MEMORY + 1),
        };
        // Two slots at once: the later measurement wins, either is as good.
        self.rate.store(learned.max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use proofmill_shared::broker::PayloadKey;
    use proofmill_shared::config::ByteSize;
    use proofmill_shared::protocol::{Digest, JobId};

    use super::*;

    const MILLIS: Duration = Duration::from_millis(1);

    /// An assignment of 64 bytes whose evaluations take 64 for each of some constraints.
    fn facts(num_constraints: usize) -> AssignmentFacts {
        AssignmentFacts {
            key: PayloadKey {
                job: JobId::generate(),
                partition: 0,
                attempt: 1,
            },
            shape: Digest::of(b"shape"),
            num_inputs: 1,
            num_aux: 1,
            num_constraints,
        }
    }

    /// What is chosen at a rate (bytes a second), for a GPU worker that computes a million bytes of evaluations in 1 ms.
    async fn chosen(choice: &str, rate: u64, needs: bool, budget: AssignmentBudget) -> PayloadMode {
        let handoff = Handoff::new(choice.parse().unwrap(), budget);
        handoff.rate.store(rate, Ordering::Relaxed);
        let facts = facts(1_000_000 / 64);
        let mut share = handoff.reserve(&facts, needs, || false).await.unwrap();
        handoff.mode(&facts, needs, MILLIS, &mut share)
    }

    #[tokio::test]
    async fn a_fixed_choice_stands_whatever_is_measured() {
        for rate in [0, 1, u64::MAX] {
            for needs in [false, true] {
                for (choice, expected) in [
                    ("witness", PayloadMode::Witness),
                    ("evaluated", PayloadMode::Evaluated),
                ] {
                    let budget = AssignmentBudget::unlimited();
                    assert_eq!(chosen(choice, rate, needs, budget).await, expected);
                }
            }
        }
    }

    #[tokio::test]
    async fn auto_sends_evaluations_to_who_needs_them() {
        for (rate, needs, expected) in [
            (1, true, PayloadMode::Evaluated),
            (0, false, PayloadMode::Witness),
        ] {
            let budget = AssignmentBudget::unlimited();
            assert_eq!(chosen("auto", rate, needs, budget).await, expected);
        }
    }

    #[tokio::test]
    async fn auto_sends_evaluations_where_sending_is_faster_than_computing() {
        // 1 MB in 1 ms needs more than 1 GB/s.
        for (rate, expected) in [
            (900_000_000, PayloadMode::Witness),
            (1_100_000_000, PayloadMode::Evaluated),
        ] {
            let budget = AssignmentBudget::unlimited();
            assert_eq!(chosen("auto", rate, false, budget).await, expected);
        }
    }

    #[tokio::test]
    async fn auto_sends_no_evaluations_that_there_is_no_memory_for() {
        for (mebibytes, expected) in [(1, PayloadMode::Witness), (8, PayloadMode::Evaluated)] {
            let budget = AssignmentBudget::new(ByteSize::mebibytes(mebibytes));
            assert_eq!(chosen("auto", u64::MAX, false, budget).await, expected);
        }
    }

    #[tokio::test]
    async fn evaluations_that_are_needed_must_fit() {
        let budget = AssignmentBudget::new(ByteSize::mebibytes(1));
        let handoff = Handoff::new(HandoffChoice::Auto, budget);
        let facts = facts(1_000_000 / 64);
        let reserved = handoff.reserve(&facts, true, || false).await;
        let error = reserved.unwrap_err();
        assert!(matches!(error, BudgetError::NeverFits { .. }), "{error}");
    }
}
