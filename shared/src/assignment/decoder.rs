//! Chunks in order, decoded in parallel straight into the vectors that the prover reads.

use ff::Field;
use rayon::prelude::*;

use super::block::{self, BlockFault, BlockFrame, EncodingMix};
use super::chunk::ChunkView;
use super::error::{AssignmentVector, CodecError};
use super::header::{AssignmentFacts, BlockPlace, Header, PayloadMode};
use crate::groth16::{Assignment, Evaluations, Scalar};
use crate::protocol::Digest;

/// Most blocks decoded at a time: their 2 MiB each, where the memory is new, are zeroed just before and should still be in the cache.
const DECODE_BLOCKS_MAX: usize = 8;

/// An assignment that grows chunk by chunk.
#[derive(Debug)]
pub(super) struct AssignmentDecoder {
    facts: AssignmentFacts,
    /// Header of the first chunk with its digest; all others must have the same.
    header: Option<(Header, Digest)>,
    /// Decoded up to `next_block`; past it a spare holds what it held.
    assignment: Assignment,
    next_block: usize,
    /// Encodings of the blocks so far.
    mix: EncodingMix,
}

impl AssignmentDecoder {
    /// Starts an assignment of these counts in the vectors of another one, which nobody needs any more: memory that was
    /// used before costs no page faults. What else is needed is set aside as blocks arrive.
    pub(super) const fn reusing(facts: AssignmentFacts, spare: Assignment) -> Self {
        Self {
            facts,
            header: None,
            assignment: spare,
            next_block: 0,
            mix: EncodingMix::NONE,
        }
    }

    /// Decodes the next chunk.
    pub(super) fn push(&mut self, index: u32, bytes: &[u8]) -> Result<(), CodecError> {
        let chunk = ChunkView::read(bytes, index, &self.facts)?;
        let (header, digest) = match self.header {
            Some((header, digest)) if header == chunk.header => (header, digest),
            Some(_) => {
                return Err(CodecError::OtherHeader { chunk: index });
            }
            None => {
                self.make_room(chunk.header.mode);
                *self.header.insert((chunk.header, chunk.header.digest()))
            }
        };
        let first = chunk.first_block as usize;
        if first != self.next_block {
            return Err(CodecError::BlockOrder {
                chunk: index,
                expected: u32::try_from(self.next_block).unwrap_or(u32::MAX),
                found: chunk.first_block,
            });
        }
        if first + chunk.blocks.len() > header.block_count() {
            return Err(CodecError::TooManyBlocks { chunk: index });
        }
        let mut rest = chunk.blocks.as_slice();
        while !rest.is_empty() {
            let run = self.run_length(&header, rest.len());
            let (now, later) = rest.split_at(run);
            self.decode_run(&header, &digest, now)?;
            rest = later;
        }
        Ok(())
    }

    /// Reserves what the counts say; memory is taken as it is filled.
    fn make_room(&mut self, mode: PayloadMode) {
        for (vector, count) in self.vectors_of(mode) {
            vector.truncate(count);
            vector.reserve_exact(count - vector.len());
        }
    }

    /// Header of the chunks so far.
    pub(super) fn header(&self) -> Option<&Header> {
        self.header.as_ref().map(|(header, _)| header)
    }

    /// Encodings of the blocks so far.
    pub(super) const fn mix(&self) -> EncodingMix {
        self.mix
    }

    /// Bytes of the scalars that were decoded so far.
    pub(super) fn raw_bytes(&self) -> u64 {
        let Some(header) = self.header() else {
            return 0;
        };
        let places = (0..self.next_block).filter_map(|block| header.place(block));
        places.map(|place| place.len as u64 * 32).sum()
    }

    /// What was decoded, in the mode that the manifest says: without a chunk there is nothing else to tell it.
    pub(super) fn finish(mut self, mode: PayloadMode) -> Assignment {
        for (vector, count) in self.vectors_of(mode) {
            vector.truncate(count);
        }
        self.assignment
    }

    /// The vectors that travel in a mode, with their lengths; those that do not are gone.
    fn vectors_of(&mut self, mode: PayloadMode) -> Vec<(&mut Vec<Scalar>, usize)> {
        let Assignment {
            input,
            aux,
            evaluations,
        } = &mut self.assignment;
        let mut vectors = vec![(input, self.facts.num_inputs), (aux, self.facts.num_aux)];
        match mode {
            PayloadMode::Witness => *evaluations = None,
            PayloadMode::Evaluated => {
                let Evaluations { a, b } = evaluations.get_or_insert_default();
                let count = self.facts.num_constraints;
                vectors.extend([(a, count), (b, count)]);
            }
        }
        vectors
    }

    /// How many of the next blocks are decoded together: of one vector, and no more than the threads can take.
    fn run_length(&self, header: &Header, available: usize) -> usize {
        let vector = |block| header.place(block).map(|place| place.vector);
        let most = rayon::current_num_threads()
            .min(DECODE_BLOCKS_MAX)
            .min(available);
        (1..most)
            .find(|ahead| vector(self.next_block + ahead) != vector(self.next_block))
            .unwrap_or(most)
    }

    /// Decodes blocks of one vector at its end.
    fn decode_run(
        &mut self,
        header: &Header,
        digest: &Digest,
        blocks: &[BlockFrame<'_>],
    ) -> Result<(), CodecError> {
        let places: Vec<BlockPlace> = (self.next_block..)
            .map_while(|block| header.place(block))
            .take(blocks.len())
            .collect();
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            return Ok(());
        };
        let evaluations = self.assignment.evaluations.as_mut();
        let vector = match first.vector {
            AssignmentVector::Input => Some(&mut self.assignment.input),
            AssignmentVector::Aux => Some(&mut self.assignment.aux),
            AssignmentVector::EvaluationsA => evaluations.map(|found| &mut found.a),
            AssignmentVector::EvaluationsB => evaluations.map(|found| &mut found.b),
        };
        // Made with the first chunk, whose header all others share.
        let Some(vector) = vector else { return Ok(()) };
        let end = last.start + last.len;
        if vector.len() < end {
            vector.resize(end, Scalar::ZERO);
        }
        let next_block = self.next_block;
        vector[first.start..end]
            .par_chunks_mut(header.block_len as usize)
            .zip(blocks)
            .zip(&places)
            .enumerate()
            .try_for_each(|(ahead, ((target, frame), place))| {
                let block = u32::try_from(next_block + ahead).unwrap_or(u32::MAX);
                block::decode(frame, digest, block, target)
                    .map_err(|fault| refuse(fault, block, place))
            })?;
        self.next_block += blocks.len();
        for block in blocks {
            self.mix += block.mix();
        }
        Ok(())
    }
}

/// The error for a block that was refused.
fn refuse(fault: BlockFault, block: u32, place: &BlockPlace) -> CodecError {
    match fault {
        BlockFault::Checksum => CodecError::BlockChecksum { block },
        BlockFault::Malformed(reason) => CodecError::MalformedBlock { block, reason },
        BlockFault::NonCanonical(index) => CodecError::NonCanonicalScalar {
            vector: place.vector,
            index: place.start + index,
        },
    }
}
