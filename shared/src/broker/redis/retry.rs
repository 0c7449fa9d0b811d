//! Repeating an exchange while the server cannot be reached.

use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBuilder};

use super::refusal::Refusal;

/// First wait before a repetition: a connection that broke is often back at once.
const FIRST_WAIT: Duration = Duration::from_millis(20);

/// Longest wait before a repetition: a server that is back is found this soon.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// Waits between repetitions, for as long as a call may repeat itself.
#[derive(Debug)]
pub(super) struct Patience {
    started: Instant,
    limit: Duration,
    waits: backon::ExponentialBackoff,
}

impl Patience {
    pub(super) fn lasting(limit: Duration) -> Self {
        let waits = ExponentialBuilder::default()
            .with_min_delay(FIRST_WAIT)
            .with_max_delay(LONGEST_WAIT)
            .with_jitter()
            .without_max_times()
            .build();
        Self {
            started: Instant::now(),
            limit,
            waits,
        }
    }

    /// Waits before the next try; gives the refusal back if there is to be none.
    pub(super) async fn or_give_up(&mut self, refusal: Refusal) -> Result<(), Refusal> {
        if !refusal.is_worth_repeating() || self.started.elapsed() >= self.limit {
            return Err(refusal);
        }
        let wait = self.waits.next().unwrap_or(LONGEST_WAIT);
        tokio::time::sleep(wait).await;
        Ok(())
    }
}
