//! Speed of the assignment codec, in raw witness bytes (32 a scalar), on all threads of the rayon pool.
//!
//! One core: `RAYON_NUM_THREADS=1 cargo bench -p proofmill-shared --bench codec`.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ff::Field;
use proofmill_shared::assignment::{
    AssignmentCollector, AssignmentEncoder, AssignmentFacts, CHUNK_BYTES_MAX, ChunkPlan,
    EncodedChunk, Manifest, PayloadMode,
};
use proofmill_shared::broker::PayloadKey;
use proofmill_shared::groth16::{Assignment, Scalar};
use proofmill_shared::protocol::{Digest, JobId};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Private variables: 32 MiB raw, more than the caches of one core hold.
const NUM_AUX: usize = 1 << 20;

/// Of 1,000 values, how many need 32 bytes: in a PoRep witness, and in a dense one.
const MIXES: [(&str, u32); 2] = [("mixed", 16), ("dense", 1000)];

fn assignment(dense_permille: u32) -> Arc<Assignment> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut value = || {
        if rng.next_u32() % 1000 < dense_permille {
            Scalar::random(&mut rng)
        } else {
            Scalar::from(u64::from(rng.next_u32() & 1))
        }
    };
    let aux = (0..NUM_AUX).map(|_| value()).collect();
    Arc::new(Assignment::new(vec![Scalar::ONE], aux))
}

fn encoder(key: PayloadKey, assignment: &Arc<Assignment>) -> AssignmentEncoder {
    let plan = ChunkPlan::for_entry_limit(CHUNK_BYTES_MAX).expect("the limit is the chunk's own");
    let shape = Digest::of(b"shape");
    AssignmentEncoder::new(key, shape, Arc::clone(assignment), plan).expect("the counts fit")
}

fn encode(key: PayloadKey, assignment: &Arc<Assignment>) -> (Vec<EncodedChunk>, Manifest) {
    let mut encoder = encoder(key, assignment);
    let chunks = encoder.by_ref().collect();
    (chunks, encoder.finish())
}

fn decode(
    facts: AssignmentFacts,
    spare: Assignment,
    chunks: &[EncodedChunk],
    manifest: &[u8],
) -> Assignment {
    let mut collector = AssignmentCollector::reusing(facts, spare).expect("the counts fit");
    for chunk in chunks {
        collector
            .push_chunk(chunk.index, chunk.bytes.clone())
            .expect("the chunk is as it was coded");
    }
    collector
        .finish(manifest)
        .expect("the manifest is as it was coded")
}

fn codec(criterion: &mut Criterion) {
    let key = PayloadKey {
        job: JobId::generate(),
        partition: 0,
        attempt: 1,
    };
    for (mix, dense_permille) in MIXES {
        let assignment = assignment(dense_permille);
        let (chunks, manifest) = encode(key, &assignment);
        let facts = manifest.header.facts;
        let manifest = manifest.encode();
        let mut group = criterion.benchmark_group(mix);
        group.sample_size(20);
        group.throughput(Throughput::Bytes(facts.raw_bytes(PayloadMode::Witness)));
        group.bench_function("encode", |bencher| {
            // Chunks go as they come, as they do on the way to a broker.
            bencher.iter(|| {
                let chunks = encoder(key, black_box(&assignment));
                chunks.map(|chunk| chunk.bytes.len()).sum::<usize>()
            });
        });
        group.bench_function("decode into new memory", |bencher| {
            bencher.iter(|| {
                let spare = Assignment::default();
                decode(facts, spare, black_box(&chunks), &manifest)
            });
        });
        // As a GPU worker does from its second assignment on.
        group.bench_function("decode", |bencher| {
            let mut spare = Assignment::default();
            bencher.iter(|| {
                let used = std::mem::take(&mut spare);
                spare = decode(facts, used, black_box(&chunks), &manifest);
            });
        });
        group.finish();
    }
}

criterion_group!(benches, codec);
criterion_main!(benches);
