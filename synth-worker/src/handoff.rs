//! What of an assignment travels: the witness alone, or the evaluations of its constraints too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proofmill_shared::assignment::{PayloadMode, ShippedReport};
use proofmill_shared::config::HandoffChoice;

/// Weight of the rate known so far against a new measurement.
const RATE_MEMORY: u64 = 7;

/// Chooses the mode of every assignment, and remembers how fast they leave. Clones share that.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handoff {
    choice: HandoffChoice,
    /// Bytes a second; 0 until one was sent.
    rate: Arc<AtomicU64>,
}

impl Handoff {
    pub(crate) fn new(choice: HandoffChoice) -> Self {
        Self {
            choice,
            rate: Arc::default(),
        }
    }

    /// What shall travel of an assignment whose evaluations take `extra_bytes` at most, and take a GPU worker about as long
    /// as `evaluate_time` to compute.
    pub(crate) fn mode(
        &self,
        needs_evaluations: bool,
        extra_bytes: u64,
        evaluate_time: Duration,
    ) -> PayloadMode {
        let is_sooner_sent = || match self.rate.load(Ordering::Relaxed) {
            0 => false,
            rate => {
                let micros = u128::from(extra_bytes) * 1_000_000 / u128::from(rate);
                micros < evaluate_time.as_micros()
            }
        };
        match self.choice {
            HandoffChoice::Witness => PayloadMode::Witness,
            HandoffChoice::Evaluated => PayloadMode::Evaluated,
            HandoffChoice::Auto if needs_evaluations || is_sooner_sent() => PayloadMode::Evaluated,
            HandoffChoice::Auto => PayloadMode::Witness,
        }
    }

    /// Learns how fast an assignment left.
    pub(crate) fn sent(&self, report: &ShippedReport) {
        let micros = report.send_time.as_micros().max(1);
        let measured = u128::from(report.bytes) * 1_000_000 / micros;
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
    use super::*;

    const MILLIS: Duration = Duration::from_millis(1);

    fn at_rate(choice: &str, rate: u64) -> Handoff {
        let handoff = Handoff::new(choice.parse().unwrap());
        handoff.rate.store(rate, Ordering::Relaxed);
        handoff
    }

    #[test]
    fn a_fixed_choice_stands_whatever_is_measured() {
        for rate in [0, 1, u64::MAX] {
            for needs in [false, true] {
                let mode = |choice| at_rate(choice, rate).mode(needs, 1000, MILLIS);
                assert_eq!(mode("witness"), PayloadMode::Witness);
                assert_eq!(mode("evaluated"), PayloadMode::Evaluated);
            }
        }
    }

    #[test]
    fn auto_sends_evaluations_to_who_needs_them() {
        assert_eq!(
            at_rate("auto", 1).mode(true, 1 << 40, MILLIS),
            PayloadMode::Evaluated
        );
        assert_eq!(
            at_rate("auto", 0).mode(false, 0, MILLIS),
            PayloadMode::Witness
        );
    }

    #[test]
    fn auto_sends_evaluations_where_sending_is_faster_than_computing() {
        // 1 MB in 1 ms needs more than 1 GB/s.
        for (rate, expected) in [
            (900_000_000, PayloadMode::Witness),
            (1_100_000_000, PayloadMode::Evaluated),
        ] {
            assert_eq!(
                at_rate("auto", rate).mode(false, 1_000_000, MILLIS),
                expected
            );
        }
    }
}
