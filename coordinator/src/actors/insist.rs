//! Broker calls until they succeed: the broker may be away for a while, and no job is lost for it.

use std::time::Duration;

use proofmill_shared::broker::{BrokerError, Retryability};

use super::site::Site;

/// First wait between two tries; doubles up to [`BACKOFF_MAX`].
const BACKOFF_BASE: Duration = Duration::from_millis(20);

/// Longest wait between two tries: a broker that came back is noticed within this.
const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// What an insisted call gave.
#[derive(Debug)]
pub(crate) struct Insisted<T> {
    /// The answer.
    pub(crate) answer: T,
    /// True if an earlier try failed in a way that leaves open whether it was applied.
    pub(crate) may_be_repeated: bool,
}

/// Makes a broker call until it succeeds, fails for good, or the coordinator ends.
///
/// # Errors
/// The last error of the call.
pub(crate) async fn insist<T>(
    site: &Site,
    what: &'static str,
    mut call: impl AsyncFnMut() -> Result<T, BrokerError>,
) -> Result<Insisted<T>, BrokerError> {
    let mut backoff = BACKOFF_BASE;
    let mut may_be_repeated = false;
    loop {
        match call().await {
            Ok(answer) => {
                return Ok(Insisted {
                    answer,
                    may_be_repeated,
                });
            }
            Err(error) if error.retryability() == Retryability::Transient && !site.is_ending() => {
                tracing::warn!(what, %error, "broker call failed, trying again");
                may_be_repeated = true;
            }
            Err(error) => return Err(error),
        }
        tokio::time::sleep(backoff).await;
        backoff = (backoff * 2).min(BACKOFF_MAX);
    }
}

/// As [`insist`], for a call whose effect is a hint that others can do without: a failure for good is logged.
pub(crate) async fn insist_on_hint<T>(
    site: &Site,
    what: &'static str,
    call: impl AsyncFnMut() -> Result<T, BrokerError>,
) -> Option<T> {
    match insist(site, what, call).await {
        Ok(insisted) => Some(insisted.answer),
        Err(error) => {
            tracing::warn!(what, %error, "broker call failed for good, going on without it");
            None
        }
    }
}
