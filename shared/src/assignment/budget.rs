//! What a worker may hold in assignments at a time: work waits for its share, and is refused if its share can never be had.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fetcher::DECODE_BYTES_MAX;
use super::header::{AssignmentFacts, PayloadMode};
use super::publisher::ENCODE_BYTES_MAX;
use crate::config::ByteSize;
use crate::protocol::{FailureKind, TaskFailure};

/// Bytes that one permit stands for: with 32-bit counts of permits, shares of up to 256 TiB.
const PERMIT_BYTES: u64 = 64 * 1024;

/// How late a cancellation is noticed by who waits for memory.
const CANCEL_POLL: Duration = Duration::from_millis(100);

/// Why no memory was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// More than the whole budget.
    #[error(
        "assignment needs {needed} bytes of memory at a time, and this worker may hold {limit}: raise assignment_budget_bytes or use a machine with more memory"
    )]
    NeverFits {
        /// Bytes that were asked for.
        needed: u64,
        /// The whole budget.
        limit: u64,
    },
    /// More than is free just now, for an assignment that turned out to be larger than was asked for.
    #[error(
        "assignment needs {needed} bytes of memory with its evaluations, and others hold them just now"
    )]
    Occupied {
        /// Bytes that were asked for, those held already included.
        needed: u64,
    },
    /// The task was cancelled or taken back.
    #[error("waiting for memory was given up: the task was taken back")]
    Cancelled,
}

impl BudgetError {
    /// What the failure means for the job: another worker may have the memory.
    #[must_use]
    pub fn failure(&self) -> TaskFailure {
        let code = match self {
            Self::NeverFits { .. } => "memory-too-small",
            Self::Occupied { .. } => "memory-occupied",
            Self::Cancelled => "taken-back",
        };
        TaskFailure::new(FailureKind::Infrastructure, code, self.to_string())
    }
}

impl AssignmentFacts {
    /// Memory for an assignment from its synthesis until it is shipped: the scalars, and what coding and sending hold.
    #[must_use]
    pub fn shipping_bytes(&self, mode: PayloadMode) -> u64 {
        let raw = self.raw_bytes(mode);
        // A small assignment fills neither all blocks nor all chunks: each holds it in at most four forms.
        raw + ENCODE_BYTES_MAX.min(raw.saturating_mul(4))
    }

    /// Memory for an assignment from its fetch until it is proved: the scalars, and what fetching and decoding hold.
    #[must_use]
    pub fn fetching_bytes(&self, mode: PayloadMode) -> u64 {
        let raw = self.raw_bytes(mode);
        // Entries are together hardly larger than the scalars.
        raw + DECODE_BYTES_MAX.min(raw.saturating_mul(2))
    }
}

/// The memory that a worker's assignments share. Cheap to clone; clones share it.
#[derive(Debug, Clone)]
pub struct AssignmentBudget {
    limit: u64,
    permits: Arc<Semaphore>,
}

/// Memory set aside for one assignment; given back when dropped.
#[derive(Debug)]
pub struct BudgetShare {
    permits: Arc<Semaphore>,
    held: OwnedSemaphorePermit,
    limit: u64,
}

impl AssignmentBudget {
    /// Shares this many bytes, in whole units of 64 KiB.
    #[must_use]
    pub fn new(limit: ByteSize) -> Self {
        let permits = usize::try_from(limit.as_u64() / PERMIT_BYTES).unwrap_or(usize::MAX);
        let permits = permits.min(Semaphore::MAX_PERMITS);
        Self {
            limit: limit.as_u64(),
            permits: Arc::new(Semaphore::new(permits)),
        }
    }

    /// As much as anyone asks for.
    #[must_use]
    pub fn unlimited() -> Self {
        Self {
            limit: u64::MAX,
            permits: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
        }
    }

    /// Sets memory aside, first come first served. `is_cancelled` is asked a few times a second.
    ///
    /// # Errors
    /// [`BudgetError::NeverFits`] at once if it is more than the whole budget; [`BudgetError::Cancelled`].
    pub async fn reserve(
        &self,
        bytes: u64,
        is_cancelled: impl Fn() -> bool,
    ) -> Result<BudgetShare, BudgetError> {
        let count = self.permits_of(bytes)?;
        let acquiring = Arc::clone(&self.permits).acquire_many_owned(count);
        tokio::pin!(acquiring);
        loop {
            if is_cancelled() {
                return Err(BudgetError::Cancelled);
            }
            // Kept over the rounds, so that its place in the queue is.
            let acquired = tokio::time::timeout(CANCEL_POLL, &mut acquiring).await;
            if let Ok(Ok(held)) = acquired {
                return Ok(BudgetShare {
                    permits: Arc::clone(&self.permits),
                    held,
                    limit: self.limit,
                });
            }
        }
    }

    /// Bytes that nobody has set aside.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.permits.available_permits() as u64 * PERMIT_BYTES
    }

    fn permits_of(&self, bytes: u64) -> Result<u32, BudgetError> {
        permits_of(bytes, self.limit)
    }
}

impl Default for AssignmentBudget {
    fn default() -> Self {
        Self::unlimited()
    }
}

impl BudgetShare {
    /// Sets so much more aside that it is `bytes` in all, if that is free now. Never waits: two that hold a part and wait
    /// for the rest would wait for ever.
    ///
    /// # Errors
    /// [`BudgetError::NeverFits`], [`BudgetError::Occupied`]; what was held stays held.
    pub fn try_grow_to(&mut self, bytes: u64) -> Result<(), BudgetError> {
        let held = u32::try_from(self.held.num_permits()).unwrap_or(u32::MAX);
        let more = permits_of(bytes, self.limit)?.saturating_sub(held);
        let more = Arc::clone(&self.permits)
            .try_acquire_many_owned(more)
            .map_err(|_| BudgetError::Occupied { needed: bytes })?;
        self.held.merge(more);
        Ok(())
    }
}

fn permits_of(bytes: u64, limit: u64) -> Result<u32, BudgetError> {
    let too_large = BudgetError::NeverFits {
        needed: bytes,
        limit,
    };
    // In whole permits on both sides, or what was found to fit would wait for ever.
    let count = bytes.div_ceil(PERMIT_BYTES);
    if count > limit / PERMIT_BYTES {
        return Err(too_large);
    }
    u32::try_from(count).map_err(|_| too_large)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const MIB: u64 = 1 << 20;

    fn budget() -> AssignmentBudget {
        AssignmentBudget::new(ByteSize::mebibytes(10))
    }

    #[tokio::test]
    async fn what_can_never_fit_is_refused_at_once_with_both_numbers() {
        let error = budget().reserve(10 * MIB + 1, || false).await.unwrap_err();
        let (needed, limit) = (10 * MIB + 1, 10 * MIB);
        assert_eq!(error, BudgetError::NeverFits { needed, limit });
        assert_eq!(error.failure().code, "memory-too-small");
    }

    #[tokio::test]
    async fn who_finds_the_memory_taken_waits_until_it_is_given_back() {
        let budget = budget();
        let first = budget.reserve(7 * MIB, || false).await.unwrap();
        assert_eq!(budget.free_bytes(), 3 * MIB);
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.reserve(4 * MIB, || false).await.map(drop) }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        waiting.await.unwrap().unwrap();
        assert_eq!(budget.free_bytes(), 10 * MIB);
    }

    #[tokio::test]
    async fn a_cancelled_task_stops_waiting() {
        let budget = budget();
        let _all = budget.reserve(10 * MIB, || false).await.unwrap();
        let asked = AtomicBool::new(false);
        // Cancelled the second time it is asked.
        let waiting = budget.reserve(MIB, || asked.swap(true, Ordering::Relaxed));
        assert_eq!(waiting.await.unwrap_err(), BudgetError::Cancelled);
    }

    #[tokio::test]
    async fn a_share_grows_only_into_free_memory() {
        let budget = budget();
        let mut share = budget.reserve(2 * MIB, || false).await.unwrap();
        let other = budget.reserve(6 * MIB, || false).await.unwrap();
        let needed = 5 * MIB;
        assert_eq!(
            share.try_grow_to(needed),
            Err(BudgetError::Occupied { needed })
        );
        drop(other);
        share.try_grow_to(needed).unwrap();
        assert_eq!(budget.free_bytes(), 5 * MIB);
        let error = share.try_grow_to(11 * MIB).unwrap_err();
        assert!(matches!(error, BudgetError::NeverFits { .. }));
        drop(share);
        assert_eq!(budget.free_bytes(), 10 * MIB);
    }
}
