//! From an assignment to chunks: blocks are coded in parallel, a few at a time, and leave as soon as a chunk is full.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::block::{self, BlockScratch, EncodingMix};
use super::chunk::{CHUNK_FRAME_BYTES, ChunkPlan, EncodedChunk, OpenChunk};
use super::error::{AssignmentVector, CodecError};
use super::header::{AssignmentFacts, Header, PayloadMode};
use super::manifest::{ChunkEntry, Manifest};
use crate::broker::PayloadKey;
use crate::groth16::{Assignment, Scalar};
use crate::protocol::Digest;

/// Most blocks coded at a time: with 2 MiB of result and 3 MiB of scratch each, what the encoder holds beside the
/// assignment stays at 40 MiB, on however many cores.
pub const ENCODE_BLOCKS_MAX: usize = 8;

/// Makes the chunks of one assignment, in order, then its manifest.
///
/// Runs on the rayon pool of the thread that iterates; the result does not depend on the number of threads.
#[derive(Debug)]
pub struct AssignmentEncoder {
    assignment: Arc<Assignment>,
    header: Header,
    header_digest: Digest,
    plan: ChunkPlan,
    /// Next block to be coded.
    next_block: usize,
    /// Where blocks are coded side by side; buffers are kept.
    slots: Vec<Slot>,
    /// Slots whose blocks are in no chunk yet.
    coded: Range<usize>,
    /// The chunk being filled.
    open: Option<OpenChunk>,
    /// Blocks in closed chunks and the open one.
    blocks_out: u32,
    chunks: Vec<ChunkEntry>,
    mix: EncodingMix,
}

/// One of the blocks that are coded at a time.
#[derive(Default)]
struct Slot {
    scratch: BlockScratch,
    flags: u16,
    /// Room for a chunk's frame, then the block: so the first block of a chunk becomes the chunk.
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slot({} bytes)", self.bytes.len())
    }
}

impl AssignmentEncoder {
    /// Prepares to code an assignment; codes nothing yet.
    ///
    /// # Errors
    /// [`CodecError::TooManyVariables`].
    pub fn new(
        key: PayloadKey,
        shape: Digest,
        assignment: Arc<Assignment>,
        plan: ChunkPlan,
    ) -> Result<Self, CodecError> {
        let facts = AssignmentFacts {
            key,
            shape,
            num_inputs: assignment.input.len(),
            num_aux: assignment.aux.len(),
            num_constraints: assignment
                .evaluations
                .as_ref()
                .map_or(0, |evaluations| evaluations.a.len()),
        };
        facts.check()?;
        let header = Header {
            facts,
            mode: PayloadMode::of(&assignment),
            block_len: plan.block_len,
        };
        Ok(Self {
            assignment,
            header,
            header_digest: header.digest(),
            plan,
            next_block: 0,
            slots: Vec::new(),
            coded: 0..0,
            open: None,
            blocks_out: 0,
            chunks: Vec::new(),
            mix: EncodingMix::default(),
        })
    }

    /// Encodings of the blocks so far.
    #[must_use]
    pub const fn mix(&self) -> EncodingMix {
        self.mix
    }

    /// Codes what is left, unseen, and answers with the manifest of all chunks.
    #[must_use]
    pub fn finish(mut self) -> Manifest {
        while self.next().is_some() {}
        Manifest {
            header: self.header,
            chunks: self.chunks,
        }
    }

    /// Codes the next few blocks.
    fn code_blocks(&mut self) {
        let left = self.header.block_count() - self.next_block;
        let width = rayon::current_num_threads()
            .min(ENCODE_BLOCKS_MAX)
            .min(left);
        let mut slots = std::mem::take(&mut self.slots);
        slots.resize_with(width.max(slots.len()), Slot::default);
        slots[..width]
            .par_iter_mut()
            .zip(self.next_block..self.next_block + width)
            .for_each(|(slot, index)| self.code_block(index, slot));
        self.slots = slots;
        self.coded = 0..width;
        self.next_block += width;
    }

    fn code_block(&self, index: usize, slot: &mut Slot) {
        slot.bytes.clear();
        slot.bytes.resize(CHUNK_FRAME_BYTES, 0);
        let block = u32::try_from(index).expect("variables are counted in 32 bits");
        slot.flags = block::encode(
            self.scalars(index),
            &self.header_digest,
            block,
            &mut slot.scratch,
            &mut slot.bytes,
        );
    }

    /// Scalars of a block.
    fn scalars(&self, block: usize) -> &[Scalar] {
        match self.header.place(block) {
            None => &[],
            Some(place) => {
                let evaluations = self.assignment.evaluations.as_ref();
                let vector = match place.vector {
                    AssignmentVector::Input => Some(&self.assignment.input),
                    AssignmentVector::Aux => Some(&self.assignment.aux),
                    AssignmentVector::EvaluationsA => evaluations.map(|found| &found.a),
                    AssignmentVector::EvaluationsB => evaluations.map(|found| &found.b),
                };
                vector.map_or(&[], |vector| &vector[place.start..place.start + place.len])
            }
        }
    }

    /// Puts a coded block into the open chunk; answers with the chunk if that fills or ends it.
    fn append(&mut self, slot: usize) -> Option<EncodedChunk> {
        let slot = &mut self.slots[slot];
        let mut chunk = match self.open.take() {
            None => OpenChunk {
                first_block: self.blocks_out,
                blocks: 0,
                bytes: std::mem::take(&mut slot.bytes),
            },
            Some(mut chunk) => {
                chunk.bytes.reserve(
                    slot.bytes
                        .len()
                        .max(self.plan.flush_at.saturating_sub(chunk.bytes.len())),
                );
                chunk
                    .bytes
                    .extend_from_slice(&slot.bytes[CHUNK_FRAME_BYTES..]);
                chunk
            }
        };
        chunk.blocks += 1;
        self.mix += EncodingMix::of(slot.flags);
        self.blocks_out += 1;
        let is_last = self.blocks_out as usize == self.header.block_count();
        if chunk.bytes.len() < self.plan.flush_at && !is_last {
            self.open = Some(chunk);
            return None;
        }
        let index = u32::try_from(self.chunks.len()).expect("chunks are no more than blocks");
        let blocks = chunk.blocks;
        let closed = chunk.close(&self.header, index);
        self.chunks.push(ChunkEntry {
            digest: closed.digest,
            bytes: u32::try_from(closed.bytes.len()).expect("a chunk is at most 4 MiB"),
            blocks,
        });
        Some(closed)
    }
}

impl Iterator for AssignmentEncoder {
    type Item = EncodedChunk;

    fn next(&mut self) -> Option<EncodedChunk> {
        loop {
            if let Some(slot) = self.coded.next() {
                if let Some(chunk) = self.append(slot) {
                    return Some(chunk);
                }
            } else if self.next_block < self.header.block_count() {
                self.code_blocks();
            } else {
                return None;
            }
        }
    }
}
