//! Whole blocks, framed as one broker entry.
//!
//! Layout, little-endian: header (see [`Header`]), index of the chunk u32, index of its first block u32, number of its
//! blocks u32, the blocks. A chunk says all that is needed to decode it, so that it can be decoded as it arrives.

use bytes::Bytes;

use super::block::{BlockFrame, block_bytes_max};
use super::error::CodecError;
use super::header::{AssignmentFacts, BLOCK_LEN_MAX, BLOCK_LEN_MIN, HEADER_BYTES, Header};
use super::reader::Reader;
use crate::protocol::Digest;

/// Largest chunk: one entry of 4 MiB stalls other clients of a Redis by some milliseconds, one of 128 MiB by 220.
pub const CHUNK_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A chunk leaves once it has this size: small enough to leave early, large enough that round trips do not count.
pub const CHUNK_BYTES_MIN: usize = 1024 * 1024;

/// Bytes of a chunk before its blocks.
pub(super) const CHUNK_FRAME_BYTES: usize = HEADER_BYTES + 12;

/// How an assignment is cut into blocks and chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPlan {
    /// Scalars in a block.
    pub block_len: u32,
    /// Size at which a chunk is closed.
    pub flush_at: usize,
}

impl ChunkPlan {
    /// The largest blocks whose chunks stay below a broker's entry limit (see `Broker::max_entry_bytes`).
    ///
    /// # Errors
    /// [`CodecError::EntryLimitTooSmall`] if not even the smallest block fits.
    pub fn for_entry_limit(limit: usize) -> Result<Self, CodecError> {
        let usable = limit.min(CHUNK_BYTES_MAX);
        let mut block_len = BLOCK_LEN_MAX;
        // Room for half a block beside a whole one, so that chunks are not all cut after one block.
        let needed = |block_len: u32| {
            let block = block_bytes_max(block_len as usize);
            CHUNK_FRAME_BYTES + block + block / 2
        };
        while needed(block_len) > usable && block_len > BLOCK_LEN_MIN {
            block_len /= 2;
        }
        if needed(block_len) > usable {
            return Err(CodecError::EntryLimitTooSmall {
                limit,
                needed: needed(block_len),
            });
        }
        let block = block_bytes_max(block_len as usize);
        Ok(Self {
            block_len,
            flush_at: CHUNK_BYTES_MIN.min(usable - block),
        })
    }
}

/// A chunk as it goes to the broker. Holds witness values: `Debug` prints counts only.
#[derive(Clone, PartialEq, Eq)]
pub struct EncodedChunk {
    /// Index from 0.
    pub index: u32,
    /// The entry.
    pub bytes: Bytes,
    /// BLAKE3 digest of the entry.
    pub digest: Digest,
}

impl std::fmt::Debug for EncodedChunk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncodedChunk")
            .field("index", &self.index)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

/// A chunk that is being filled.
pub(super) struct OpenChunk {
    /// Index of its first block.
    pub(super) first_block: u32,
    /// Number of its blocks.
    pub(super) blocks: u32,
    /// Room for the frame, then the blocks.
    pub(super) bytes: Vec<u8>,
}

impl OpenChunk {
    /// Fills the frame in.
    pub(super) fn close(self, header: &Header, index: u32) -> EncodedChunk {
        let mut bytes = self.bytes;
        let (head, rest) = bytes.split_at_mut(HEADER_BYTES);
        head.copy_from_slice(&header.encode());
        rest[0..4].copy_from_slice(&index.to_le_bytes());
        rest[4..8].copy_from_slice(&self.first_block.to_le_bytes());
        rest[8..12].copy_from_slice(&self.blocks.to_le_bytes());
        EncodedChunk {
            index,
            digest: Digest::of(&bytes),
            bytes: bytes.into(),
        }
    }
}

impl std::fmt::Debug for OpenChunk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OpenChunk({} blocks)", self.blocks)
    }
}

/// A chunk that has been cut into its blocks, none of them decoded.
pub(super) struct ChunkView<'a> {
    /// What it is of.
    pub(super) header: Header,
    /// Index of its first block.
    pub(super) first_block: u32,
    /// Its blocks, one at least.
    pub(super) blocks: Vec<BlockFrame<'a>>,
}

impl<'a> ChunkView<'a> {
    /// Cuts the chunk stored under `index`, which must be of this assignment.
    pub(super) fn read(
        bytes: &'a [u8],
        index: u32,
        expected: &AssignmentFacts,
    ) -> Result<Self, CodecError> {
        if bytes.len() > CHUNK_BYTES_MAX {
            return Err(CodecError::ChunkTooLarge {
                chunk: index,
                bytes: bytes.len(),
                limit: CHUNK_BYTES_MAX,
            });
        }
        let mut reader = Reader::new(bytes, "chunk");
        let header = Header::decode(reader.take(HEADER_BYTES)?, expected)?;
        let found = reader.u32()?;
        if found != index {
            return Err(CodecError::ChunkIndex {
                expected: index,
                found,
            });
        }
        let first_block = reader.u32()?;
        let count = reader.u32()?;
        if count == 0 || count as usize > header.block_count() {
            return Err(CodecError::TooManyBlocks { chunk: index });
        }
        // Grows with the bytes that are there, not with the count that is claimed.
        let mut blocks = Vec::new();
        for _ in 0..count {
            blocks.push(BlockFrame::read(&mut reader)?);
        }
        reader.finish()?;
        Ok(Self {
            header,
            first_block,
            blocks,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_stay_below_every_entry_limit() {
        for limit in [64 << 10, 100_000, 1 << 20, 3 << 20, 4 << 20, 512 << 20] {
            let plan = ChunkPlan::for_entry_limit(limit).unwrap();
            let largest = plan.flush_at - 1 + block_bytes_max(plan.block_len as usize);
            assert!(
                largest < limit && largest < CHUNK_BYTES_MAX,
                "limit {limit}"
            );
            assert!(plan.flush_at >= CHUNK_FRAME_BYTES, "limit {limit}");
        }
        let roomy = ChunkPlan::for_entry_limit(CHUNK_BYTES_MAX).unwrap();
        assert_eq!(
            (roomy.block_len, roomy.flush_at),
            (BLOCK_LEN_MAX, CHUNK_BYTES_MIN)
        );
    }

    #[test]
    fn a_limit_below_the_smallest_chunk_is_refused() {
        assert!(matches!(
            ChunkPlan::for_entry_limit(32 << 10),
            Err(CodecError::EntryLimitTooSmall { .. })
        ));
    }
}
