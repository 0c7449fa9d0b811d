//! From an assignment to chunks: blocks are coded in parallel, a few at a time, and leave as soon as a chunk is full.

use std::collections::VecDeque;
use std::sync::Arc;

use rayon::prelude::*;

use super::block::{self, BlockScratch, EncodingMix};
use super::chunk::{self, ChunkPlan, EncodedChunk};
use super::error::{AssignmentVector, CodecError};
use super::header::{AssignmentFacts, Header};
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
    /// Coded blocks that are in no chunk yet.
    coded: VecDeque<CodedBlock>,
    /// The chunk being filled, with the number of its blocks.
    open: Option<(Vec<u8>, u32)>,
    /// Blocks in closed chunks and the open one.
    blocks_out: u32,
    chunks: Vec<ChunkEntry>,
    mix: EncodingMix,
}

/// A block's bytes; no witness value in `Debug`.
struct CodedBlock {
    flags: u16,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for CodedBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CodedBlock({} bytes)", self.bytes.len())
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
        };
        facts.check()?;
        let header = Header {
            facts,
            block_len: plan.block_len,
        };
        Ok(Self {
            assignment,
            header,
            header_digest: header.digest(),
            plan,
            next_block: 0,
            coded: VecDeque::new(),
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
        let width = rayon::current_num_threads().min(ENCODE_BLOCKS_MAX);
        let end = self.header.block_count().min(self.next_block + width);
        let blocks: Vec<CodedBlock> = (self.next_block..end)
            .into_par_iter()
            .map_init(BlockScratch::default, |scratch, index| {
                let mut bytes = Vec::new();
                let index_on_wire = u32::try_from(index).expect("variables are counted in 32 bits");
                let scalars = self.scalars(index);
                let flags = block::encode(
                    scalars,
                    &self.header_digest,
                    index_on_wire,
                    scratch,
                    &mut bytes,
                );
                CodedBlock { flags, bytes }
            })
            .collect();
        self.coded.extend(blocks);
        self.next_block = end;
    }

    /// Scalars of a block.
    fn scalars(&self, block: usize) -> &[Scalar] {
        match self.header.place(block) {
            None => &[],
            Some(place) => {
                let vector = match place.vector {
                    AssignmentVector::Input => &self.assignment.input,
                    AssignmentVector::Aux => &self.assignment.aux,
                };
                &vector[place.start..place.start + place.len]
            }
        }
    }

    /// Puts a block into the open chunk; answers with the chunk if that fills or ends it.
    fn append(&mut self, block: &CodedBlock) -> Option<EncodedChunk> {
        let index = u32::try_from(self.chunks.len()).expect("chunks are no more than blocks");
        let (mut chunk, blocks) = self
            .open
            .take()
            .unwrap_or_else(|| (chunk::open(&self.header, index, self.blocks_out), 0));
        chunk.extend_from_slice(&block.bytes);
        self.mix += EncodingMix::of(block.flags);
        self.blocks_out += 1;
        let is_last = self.blocks_out as usize == self.header.block_count();
        if chunk.len() < self.plan.flush_at && !is_last {
            self.open = Some((chunk, blocks + 1));
            return None;
        }
        let closed = chunk::close(chunk, index, blocks + 1);
        self.chunks.push(ChunkEntry {
            digest: closed.digest,
            bytes: u32::try_from(closed.bytes.len()).expect("a chunk is at most 4 MiB"),
            blocks: blocks + 1,
        });
        Some(closed)
    }
}

impl Iterator for AssignmentEncoder {
    type Item = EncodedChunk;

    fn next(&mut self) -> Option<EncodedChunk> {
        loop {
            if let Some(block) = self.coded.pop_front() {
                if let Some(chunk) = self.append(&block) {
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
