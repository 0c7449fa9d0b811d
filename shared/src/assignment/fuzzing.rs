//! Any bytes as entries of an assignment stream: the body of the fuzz target, which the suite runs over its corpus.
//!
//! Input: records, each a kind (u8), a length (u16, little-endian) and so many bytes, fewer at the end. Kinds: 0 to 127, a
//! chunk stored under that index; 128, the manifest; 129, the manifest that fits the chunks so far, as at the end of the
//! input; 130 to 191, a block body behind its flags (u16), for which frame, checksum and chunk are made, so that what is
//! inside is reached; 192 to 255, the same in `evaluated` mode.

use ff::Field;
use uuid::Uuid;

use super::block;
use super::chunk::{CHUNK_FRAME_BYTES, ChunkPlan, EncodedChunk, OpenChunk};
use super::collector::AssignmentCollector;
use super::encoder::AssignmentEncoder;
use super::error::CodecError;
use super::header::{AssignmentFacts, BLOCK_LEN_MIN, Header, PayloadMode};
use super::manifest::{ChunkEntry, Manifest};
use crate::broker::PayloadKey;
use crate::groth16::{Assignment, Evaluations, Scalar};
use crate::protocol::{Digest, JobId};

const MANIFEST: u8 = 128;
const FITTING_MANIFEST: u8 = 129;
const EVALUATED_BODY: u8 = 192;

/// Small blocks and chunks of one block each.
const PLAN: ChunkPlan = ChunkPlan {
    block_len: BLOCK_LEN_MIN,
    flush_at: CHUNK_FRAME_BYTES,
};

/// What every input claims to be of: a full block and five more, so that both kinds are there.
fn facts() -> AssignmentFacts {
    AssignmentFacts {
        key: PayloadKey {
            job: JobId::from_uuid(Uuid::from_u128(7)),
            partition: 3,
            attempt: 2,
        },
        shape: Digest([5; 32]),
        num_inputs: 3,
        num_aux: BLOCK_LEN_MIN as usize + 5,
        num_constraints: 9,
    }
}

/// Collects the entries that some bytes describe.
///
/// # Errors
/// [`CodecError`] for all but a whole assignment.
///
/// # Panics
/// If what was collected is not what its counts say, or does not survive being coded again: a fault of the codec.
pub fn collect(data: &[u8]) -> Result<Assignment, CodecError> {
    let mut entries = Entries {
        collector: AssignmentCollector::new(facts())?,
        mode: PayloadMode::Witness,
        listed: Vec::new(),
    };
    let mut rest = data;
    let collected = loop {
        let Some((kind, body)) = next_record(&mut rest) else {
            break entries.finish();
        };
        match kind {
            MANIFEST => break entries.collector.finish(body),
            FITTING_MANIFEST => break entries.finish(),
            0..MANIFEST => entries.push_chunk(u32::from(kind), body)?,
            _ => entries.push_block(kind >= EVALUATED_BODY, body)?,
        }
    };
    collected.inspect(assert_codes_again)
}

/// Inputs to start from: whole assignments of both modes, chunk by chunk and body by body.
///
/// # Errors
/// None: the counts fit.
pub fn seeds() -> Result<Vec<Vec<u8>>, CodecError> {
    let values = |count: usize| (0..count as u64).map(sample).collect::<Vec<_>>();
    let facts = facts();
    let witness = Assignment::new(values(facts.num_inputs), values(facts.num_aux));
    let mut evaluated = witness.clone();
    evaluated.evaluations = Some(Evaluations {
        a: values(facts.num_constraints),
        b: vec![Scalar::from(1); facts.num_constraints],
    });
    let mut seeds = Vec::new();
    for assignment in [witness, evaluated] {
        let first_body = match PayloadMode::of(&assignment) {
            PayloadMode::Witness => FITTING_MANIFEST + 1,
            PayloadMode::Evaluated => EVALUATED_BODY,
        };
        let (chunks, manifest) = coded(assignment)?;
        let mut by_chunk = Vec::new();
        let mut by_body = Vec::new();
        for (index, chunk) in (0u8..).zip(&chunks) {
            write_record(index, &chunk.bytes, &mut by_chunk);
            let (frame, body) = chunk.bytes[CHUNK_FRAME_BYTES..].split_at(block::FRAME_BYTES);
            write_record(first_body, &[&frame[..2], body].concat(), &mut by_body);
        }
        write_record(MANIFEST, &manifest.encode(), &mut by_chunk);
        seeds.extend([by_chunk, by_body]);
    }
    Ok(seeds)
}

/// Zeros and ones, small values of every width, and wide ones.
fn sample(index: u64) -> Scalar {
    let small = Scalar::from(index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (index % 64));
    match index % 8 {
        0..5 => Scalar::from(index % 2),
        5 | 6 => small,
        _ => small.square().square().square() + Scalar::from(index),
    }
}

fn coded(assignment: Assignment) -> Result<(Vec<EncodedChunk>, Manifest), CodecError> {
    let AssignmentFacts { key, shape, .. } = facts();
    let mut encoder = AssignmentEncoder::new(key, shape, assignment.into(), PLAN)?;
    let chunks = encoder.by_ref().collect();
    Ok((chunks, encoder.finish()))
}

/// Entries as they are read.
struct Entries {
    collector: AssignmentCollector,
    mode: PayloadMode,
    /// The chunks so far, as a manifest lists them.
    listed: Vec<ChunkEntry>,
}

impl Entries {
    fn header(&self) -> Header {
        Header {
            facts: facts(),
            mode: self.mode,
            block_len: PLAN.block_len,
        }
    }

    fn push_chunk(&mut self, index: u32, bytes: &[u8]) -> Result<(), CodecError> {
        let is_new = index as usize == self.listed.len();
        self.collector.push_chunk(index, bytes.to_vec().into())?;
        if is_new {
            self.list(bytes, 1);
        }
        Ok(())
    }

    /// Makes a right chunk around one block's flags and body.
    fn push_block(&mut self, is_evaluated: bool, record: &[u8]) -> Result<(), CodecError> {
        if self.listed.is_empty() && is_evaluated {
            self.mode = PayloadMode::Evaluated;
        }
        let index = u32::try_from(self.listed.len()).unwrap_or(u32::MAX);
        let (flags, body) = record.split_at(record.len().min(2));
        let flags = flags
            .iter()
            .rev()
            .fold(0, |flags, byte| flags << 8 | u16::from(*byte));
        let header = self.header();
        let mut bytes = vec![0; CHUNK_FRAME_BYTES];
        block::write(&header.digest(), index, flags, body, &mut bytes);
        let open = OpenChunk {
            first_block: index,
            blocks: 1,
            bytes,
        };
        let chunk = open.close(&header, index);
        self.collector.push_chunk(index, chunk.bytes.clone())?;
        self.list(&chunk.bytes, 1);
        Ok(())
    }

    fn list(&mut self, bytes: &[u8], blocks: u32) {
        self.listed.push(ChunkEntry {
            digest: Digest::of(bytes),
            bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            blocks,
        });
    }

    /// Finishes under the manifest that fits.
    fn finish(self) -> Result<Assignment, CodecError> {
        let manifest = Manifest {
            header: self.header(),
            chunks: self.listed,
        };
        self.collector.finish(&manifest.encode())
    }
}

/// What was accepted is of the counts, takes no more memory than they say, and comes back the same.
fn assert_codes_again(assignment: &Assignment) {
    let facts = facts();
    let evaluations = assignment.evaluations.as_ref();
    for (vector, count) in [
        (Some(&assignment.input), facts.num_inputs),
        (Some(&assignment.aux), facts.num_aux),
        (evaluations.map(|found| &found.a), facts.num_constraints),
        (evaluations.map(|found| &found.b), facts.num_constraints),
    ] {
        let Some(vector) = vector else { continue };
        assert_eq!(vector.len(), count);
        assert_eq!(vector.capacity(), count, "memory beyond the counts");
    }
    let again = coded(assignment.clone()).and_then(|(chunks, manifest)| {
        let mut collector = AssignmentCollector::new(facts)?;
        for chunk in chunks {
            collector.push_chunk(chunk.index, chunk.bytes)?;
        }
        collector.finish(&manifest.encode())
    });
    assert!(again.as_ref() == Ok(assignment), "coded again: {again:?}");
}

fn next_record<'a>(rest: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let ([kind, low, high], after) = rest.split_first_chunk::<3>()?;
    let len = usize::from(u16::from_le_bytes([*low, *high])).min(after.len());
    let (body, after) = after.split_at(len);
    *rest = after;
    Some((*kind, body))
}

fn write_record(kind: u8, body: &[u8], out: &mut Vec<u8>) {
    let len = u16::try_from(body.len()).expect("a block of 1,024 scalars takes 32 KiB at most");
    out.push(kind);
    out.extend(len.to_le_bytes());
    out.extend(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_a_whole_assignment() {
        let seeds = seeds().unwrap();
        assert_eq!(seeds.len(), 4);
        for seed in &seeds {
            collect(seed).unwrap();
        }
    }

    #[test]
    fn the_corpus_finds_nothing() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/assignment");
        let (mut accepted, mut refused) = (0, 0);
        for entry in std::fs::read_dir(folder).unwrap() {
            let data = std::fs::read(entry.unwrap().path()).unwrap();
            match collect(&data) {
                Ok(_) => accepted += 1,
                Err(_) => refused += 1,
            }
        }
        assert!(accepted >= 4 && refused >= 100, "{accepted} {refused}");
    }
}
