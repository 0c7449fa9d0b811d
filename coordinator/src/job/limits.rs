//! Limits of a job's life, by name.

use std::time::Duration;

/// Started attempts of one stage of one unit that may fail before its job does. Three: one for bad luck, one for a bad
/// machine, and one that decides.
pub const MAX_FAILED_ATTEMPTS: u32 = 3;

/// Attempts of one stage of one unit that may be lost before they started, or given back. Such losses say nothing of the
/// unit; the limit only ends a job that no worker can ever take. With the backoff below it takes minutes to reach.
pub const MAX_LOST_ATTEMPTS: u32 = 30;

/// Wait before a unit's second attempt; doubles with every further one.
pub const RETRY_BACKOFF_BASE: Duration = Duration::from_millis(100);

/// Longest wait before another attempt.
pub const RETRY_BACKOFF_MAX: Duration = Duration::from_secs(10);

/// Most partitions a plan may ask for: a job's units are held in memory while it runs.
pub const MAX_PARTITIONS: u32 = 65_536;

/// Wait before the next attempt, after this many attempts that failed or were lost.
pub(super) fn backoff(attempts_behind: u32) -> Duration {
    if attempts_behind == 0 {
        return Duration::ZERO;
    }
    let doublings = (attempts_behind - 1).min(16);
    (RETRY_BACKOFF_BASE * (1 << doublings)).min(RETRY_BACKOFF_MAX)
}
