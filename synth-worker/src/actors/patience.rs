//! Broker calls that outlast a broker's absence.

use std::time::{Duration, Instant};

use proofmill_shared::assignment::BROKER_OUTAGE_LIMIT;
use proofmill_shared::broker::{BrokerError, Retryability};
use proofmill_shared::membership::CancelFlag;

/// First wait before a call is made again; doubles each time.
const PAUSE_MIN: Duration = Duration::from_millis(50);

/// Longest wait before a call is made again: an effect is at most this late after the broker is back.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Makes a call again while it fails in passing, for as long as shipping an assignment outlasts an absent broker: minutes
/// of synthesis must not be lost to a restart. Ends early once the task is no longer wanted.
///
/// # Errors
/// The call's last [`BrokerError`].
pub(super) async fn patiently<T>(
    cancel: &CancelFlag,
    call: impl AsyncFn() -> Result<T, BrokerError>,
) -> Result<T, BrokerError> {
    let since = Instant::now();
    let mut pause = PAUSE_MIN;
    loop {
        let error = match call().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let is_over = match error.retryability() {
            Retryability::Fatal => true,
            Retryability::Transient => cancel.is_raised() || since.elapsed() >= BROKER_OUTAGE_LIMIT,
        };
        if is_over {
            return Err(error);
        }
        tracing::debug!(%error, "broker call is made again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const ABSENT: BrokerError = BrokerError::Timeout { limit_ms: 1 };
    const FULL: BrokerError = BrokerError::EntryTooLarge { bytes: 2, limit: 1 };

    async fn calls(failures: u32, error: fn() -> BrokerError, cancel: &CancelFlag) -> (bool, u32) {
        let made = Cell::new(0);
        let outcome = patiently(cancel, async || {
            made.set(made.get() + 1);
            if made.get() <= failures {
                Err(error())
            } else {
                Ok(())
            }
        });
        (outcome.await.is_ok(), made.get())
    }

    #[tokio::test]
    async fn what_fails_in_passing_is_tried_again() {
        assert_eq!(calls(2, || ABSENT, &CancelFlag::default()).await, (true, 3));
    }

    #[tokio::test]
    async fn what_cannot_succeed_is_tried_once() {
        assert_eq!(calls(2, || FULL, &CancelFlag::default()).await, (false, 1));
    }

    #[tokio::test]
    async fn a_task_that_nobody_wants_waits_for_nobody() {
        let cancel = CancelFlag::default();
        cancel.raise();
        assert_eq!(calls(2, || ABSENT, &cancel).await, (false, 1));
    }
}
