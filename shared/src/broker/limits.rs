//! Limits that both backends keep.

use std::time::Duration;

/// Longest wait of one read, 1 h: readers look around more often than that.
pub(super) const BLOCK_MAX: Duration = Duration::from_secs(3600);

/// Largest payload entry in bytes, 4 MiB: one entry occupies the server for a few milliseconds at most, and a fetcher
/// decodes early entries while late ones are still on their way.
pub(super) const ENTRY_BYTES_MAX: usize = 4 << 20;

/// Most entries that one payload read answers with: at 4 MiB each, what a reader holds undecoded stays small.
pub(crate) const PAYLOAD_ENTRIES_PER_READ: usize = 4;

/// Dead letters kept: older ones than the newest ten thousand are read by nobody.
pub(super) const DEAD_LETTERS_MAX: usize = 10_000;
