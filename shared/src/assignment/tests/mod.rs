//! Tests of the codec as a whole.

mod damage;
mod handoff;
mod memory;
mod round_trip;
mod sizes;

use std::sync::Arc;

use ff::Field;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use uuid::Uuid;

use super::*;
use crate::broker::PayloadKey;
use crate::groth16::{Assignment, Evaluations, Scalar};
use crate::protocol::{Digest, JobId};

/// Small blocks and chunks, so that small assignments have several of both.
const SMALL: ChunkPlan = ChunkPlan {
    block_len: BLOCK_LEN_MIN,
    flush_at: 2_000,
};

fn key() -> PayloadKey {
    PayloadKey {
        job: JobId::from_uuid(Uuid::from_u128(0x0123_4567_89ab_cdef)),
        partition: 4,
        attempt: 2,
    }
}

fn shape() -> Digest {
    Digest::of(b"shape")
}

fn facts_of(assignment: &Assignment) -> AssignmentFacts {
    AssignmentFacts {
        key: key(),
        shape: shape(),
        num_inputs: assignment.input.len(),
        num_aux: assignment.aux.len(),
        num_constraints: assignment
            .evaluations
            .as_ref()
            .map_or(0, |evaluations| evaluations.a.len()),
    }
}

/// An assignment of which `dense_percent` of the aux variables are random and the others zero or one.
fn mixed(num_inputs: usize, num_aux: usize, dense_percent: f64) -> Arc<Assignment> {
    let mut rng = ChaCha8Rng::seed_from_u64(num_aux as u64);
    let input = (0..num_inputs as u64)
        .map(|i| Scalar::from(i + 1))
        .collect();
    let aux = (0..num_aux)
        .map(|_| {
            if rng.gen_bool(dense_percent / 100.0) {
                Scalar::random(&mut rng)
            } else {
                Scalar::from(u64::from(rng.r#gen::<bool>()))
            }
        })
        .collect();
    Arc::new(Assignment::new(input, aux))
}

/// Codes an assignment.
fn encoded(assignment: &Arc<Assignment>, plan: ChunkPlan) -> (Vec<EncodedChunk>, Manifest) {
    let mut encoder = AssignmentEncoder::new(key(), shape(), Arc::clone(assignment), plan).unwrap();
    let chunks = encoder.by_ref().collect();
    (chunks, encoder.finish())
}

/// Collects these chunks under this manifest.
fn collected(
    facts: AssignmentFacts,
    chunks: &[EncodedChunk],
    manifest: &[u8],
) -> Result<Assignment, CodecError> {
    let mut collector = AssignmentCollector::new(facts)?;
    for chunk in chunks {
        collector.push_chunk(chunk.index, chunk.bytes.clone())?;
    }
    collector.finish(manifest)
}
