//! Chunks as they arrive, decoded early, and handed out only under a manifest that fits.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::block::EncodingMix;
use super::chunk::CHUNK_BYTES_MAX;
use super::decoder::AssignmentDecoder;
use super::error::CodecError;
use super::header::{AssignmentFacts, PayloadMode};
use super::manifest::{ChunkEntry, Manifest, equal};
use crate::groth16::Assignment;
use crate::protocol::Digest;

/// Most chunks held that came before their turn. A publisher has a few on their way at a time, so what is further ahead
/// is not late but missing; and what is held is memory.
pub const HELD_CHUNKS_MAX: usize = 16;

/// Takes chunks in any order that a publisher may cause, and the manifest last.
#[derive(Debug)]
pub struct AssignmentCollector {
    facts: AssignmentFacts,
    decoder: AssignmentDecoder,
    /// Digest and size of every chunk seen.
    seen: BTreeMap<u32, (Digest, usize)>,
    /// Chunks before their turn.
    held: BTreeMap<u32, Bytes>,
    /// Index of the chunk that is decoded next.
    next: u32,
}

impl AssignmentCollector {
    /// Starts to collect an assignment. The counts come from the circuit's shape, never from the payload: they bound the
    /// memory, which is 32 bytes a variable, 64 a constraint if evaluations travel, and at most [`HELD_CHUNKS_MAX`] chunks.
    ///
    /// # Errors
    /// [`CodecError::TooManyVariables`].
    pub fn new(facts: AssignmentFacts) -> Result<Self, CodecError> {
        Self::reusing(facts, Assignment::default())
    }

    /// The same, in the vectors of an assignment that nobody needs any more.
    ///
    /// # Errors
    /// [`CodecError::TooManyVariables`].
    pub fn reusing(facts: AssignmentFacts, spare: Assignment) -> Result<Self, CodecError> {
        facts.check()?;
        Ok(Self {
            facts,
            decoder: AssignmentDecoder::reusing(facts, spare),
            seen: BTreeMap::new(),
            held: BTreeMap::new(),
            next: 0,
        })
    }

    /// Takes a chunk; decodes it and those it was waited for if it is its turn. The same chunk twice is fine.
    ///
    /// # Errors
    /// [`CodecError::ConflictingChunk`] for other bytes under an index already seen, [`CodecError::ChunkMissing`] if
    /// too many came before their turn, and whatever decoding finds.
    pub fn push_chunk(&mut self, index: u32, bytes: Bytes) -> Result<(), CodecError> {
        if bytes.len() > CHUNK_BYTES_MAX {
            return Err(CodecError::ChunkTooLarge {
                chunk: index,
                bytes: bytes.len(),
                limit: CHUNK_BYTES_MAX,
            });
        }
        let digest = Digest::of(&bytes);
        if let Some((seen, _)) = self.seen.get(&index) {
            return if *seen == digest {
                Ok(())
            } else {
                Err(CodecError::ConflictingChunk { chunk: index })
            };
        }
        if index > self.next && self.held.len() == HELD_CHUNKS_MAX {
            return Err(CodecError::ChunkMissing { chunk: self.next });
        }
        self.seen.insert(index, (digest, bytes.len()));
        self.held.insert(index, bytes);
        while let Some(chunk) = self.held.remove(&self.next) {
            self.decoder.push(self.next, &chunk)?;
            self.next += 1;
        }
        Ok(())
    }

    /// Number of different chunks seen.
    #[must_use]
    pub fn chunk_count(&self) -> usize {
        self.seen.len()
    }

    /// Bytes of the different chunks seen.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.seen.values().map(|(_, bytes)| *bytes as u64).sum()
    }

    /// Which assignment it collects.
    #[must_use]
    pub const fn facts(&self) -> &AssignmentFacts {
        &self.facts
    }

    /// What travels, once a chunk said so.
    #[must_use]
    pub fn mode(&self) -> Option<PayloadMode> {
        self.decoder.header().map(|header| header.mode)
    }

    /// Bytes at 32 a scalar of what was decoded so far.
    #[must_use]
    pub fn raw_bytes(&self) -> u64 {
        self.decoder.raw_bytes()
    }

    /// Encodings of the blocks decoded so far.
    #[must_use]
    pub const fn mix(&self) -> EncodingMix {
        self.decoder.mix()
    }

    /// Takes the manifest and hands out the assignment, if everything fits: number, order, sizes and digests of the
    /// chunks, and the assignment that they are of.
    ///
    /// # Errors
    /// Those of [`Manifest::decode`], [`CodecError::ChunkMissing`], [`CodecError::ChunkDigest`],
    /// [`CodecError::ManifestMismatch`].
    pub fn finish(self, manifest: &[u8]) -> Result<Assignment, CodecError> {
        let manifest = Manifest::decode(manifest, &self.facts)?;
        for (chunk, entry) in (0u32..).zip(&manifest.chunks) {
            let ChunkEntry { digest, bytes, .. } = entry;
            match self.seen.get(&chunk) {
                None => return Err(CodecError::ChunkMissing { chunk }),
                Some((seen, len)) if seen != digest || *len != *bytes as usize => {
                    return Err(CodecError::ChunkDigest { chunk });
                }
                Some(_) => {}
            }
        }
        equal(
            "number of chunks",
            manifest.chunks.len() as u64,
            self.seen.len() as u64,
        )?;
        if let Some(header) = self.decoder.header()
            && *header != manifest.header
        {
            return Err(CodecError::OtherHeader { chunk: 0 });
        }
        let expected = self.facts.raw_bytes(manifest.header.mode);
        let found = self.decoder.raw_bytes();
        equal("number of decoded bytes", expected, found)?;
        Ok(self.decoder.finish(manifest.header.mode))
    }
}
