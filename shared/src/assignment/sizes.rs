//! How large an assignment was when it travelled, as sender and receiver both see it.

use super::block::EncodingMix;
use super::header::PayloadMode;

/// Size of one payload. Sender and receiver of the same payload have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadSizes {
    /// Bytes of all entries, the manifest's included.
    pub bytes: u64,
    /// Bytes of the same scalars at 32 each.
    pub raw_bytes: u64,
    /// Number of chunks.
    pub chunks: u32,
    /// What travelled.
    pub mode: PayloadMode,
    /// Encodings of the blocks.
    pub mix: EncodingMix,
}

impl PayloadSizes {
    /// Raw bytes over travelled bytes.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.raw_bytes as f64 / self.bytes.max(1) as f64
    }
}
