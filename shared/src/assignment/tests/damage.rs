//! Whatever is not exactly what was coded is refused.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

/// A small encoding with several layouts in it, as one chunk and its manifest.
fn small() -> (Arc<Assignment>, Bytes, Bytes) {
    let mut assignment = Assignment::new(
        (1..4).map(Scalar::from).collect(),
        (0..60).map(|i| Scalar::from(i % 2)).collect(),
    );
    assignment.aux[7] = Scalar::from(300);
    assignment.aux[40] = -Scalar::ONE;
    let assignment = Arc::new(assignment);
    let (chunks, manifest) = encoded(&assignment, SMALL);
    assert_eq!(chunks.len(), 1);
    (assignment, chunks[0].bytes.clone(), manifest.encode())
}

fn collect_one(
    facts: AssignmentFacts,
    chunk: Bytes,
    manifest: &[u8],
) -> Result<Assignment, CodecError> {
    let mut collector = AssignmentCollector::new(facts)?;
    collector.push_chunk(0, chunk)?;
    collector.finish(manifest)
}

#[test]
fn every_flipped_bit_is_noticed() {
    let (assignment, chunk, manifest) = small();
    let facts = facts_of(&assignment);
    assert!(collect_one(facts, chunk.clone(), &manifest).is_ok());
    for bit in 0..chunk.len() * 8 {
        let mut flipped = chunk.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let mut collector = AssignmentCollector::new(facts).unwrap();
        let early = collector.push_chunk(0, flipped.into());
        assert!(early.is_err(), "bit {bit} passes before the manifest");
    }
    for bit in 0..manifest.len() * 8 {
        let mut flipped = manifest.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(
            collect_one(facts, chunk.clone(), &flipped).is_err(),
            "manifest bit {bit}"
        );
    }
}

#[test]
fn every_truncation_and_extension_is_noticed() {
    let (assignment, chunk, manifest) = small();
    let facts = facts_of(&assignment);
    for len in 0..chunk.len() {
        assert!(
            collect_one(facts, chunk.slice(..len), &manifest).is_err(),
            "chunk of {len}"
        );
    }
    for len in 0..manifest.len() {
        assert!(
            collect_one(facts, chunk.clone(), &manifest[..len]).is_err(),
            "manifest of {len}"
        );
    }
    let longer = |bytes: &Bytes| [bytes, &[0u8][..]].concat();
    assert!(collect_one(facts, longer(&chunk).into(), &manifest).is_err());
    assert!(collect_one(facts, chunk, &longer(&manifest)).is_err());
}

#[test]
fn a_missing_chunk_is_named() {
    let assignment = mixed(40, 10_000, 30.0);
    let (chunks, manifest) = encoded(&assignment, SMALL);
    for missing in 0..chunks.len() {
        let mut rest = chunks.clone();
        let chunk = rest.remove(missing).index;
        let found = collected(facts_of(&assignment), &rest, &manifest.encode());
        assert_eq!(found, Err(CodecError::ChunkMissing { chunk }));
    }
}

#[test]
fn chunks_too_far_ahead_are_not_held() {
    let assignment = mixed(1, 40 * 1024, 30.0);
    let (chunks, _) = encoded(&assignment, SMALL);
    let mut collector = AssignmentCollector::new(facts_of(&assignment)).unwrap();
    let refused = chunks[1..]
        .iter()
        .map(|chunk| collector.push_chunk(chunk.index, chunk.bytes.clone()))
        .position(|result| result == Err(CodecError::ChunkMissing { chunk: 0 }));
    assert_eq!(refused, Some(HELD_CHUNKS_MAX));
}

#[test]
fn a_chunk_under_another_index_is_refused() {
    let assignment = mixed(40, 10_000, 30.0);
    let (chunks, _) = encoded(&assignment, SMALL);
    let mut collector = AssignmentCollector::new(facts_of(&assignment)).unwrap();
    let found = collector.push_chunk(0, chunks[1].bytes.clone());
    assert_eq!(
        found,
        Err(CodecError::ChunkIndex {
            expected: 0,
            found: 1
        })
    );
}

#[test]
fn two_different_chunks_under_one_index_are_a_conflict() {
    let (assignment, chunk, _) = small();
    let mut collector = AssignmentCollector::new(facts_of(&assignment)).unwrap();
    collector.push_chunk(0, chunk.clone()).unwrap();
    collector.push_chunk(0, chunk.clone()).unwrap();
    let found = collector.push_chunk(0, chunk.slice(1..));
    assert_eq!(found, Err(CodecError::ConflictingChunk { chunk: 0 }));
}

#[test]
fn every_fact_is_bound() {
    let (assignment, chunk, manifest) = small();
    let facts = facts_of(&assignment);
    let mut others = [facts; 6];
    others[0].key.job = JobId::generate();
    others[1].key.partition += 1;
    others[2].key.attempt += 1;
    others[3].shape = Digest::of(b"another shape");
    others[4].num_inputs += 1;
    others[5].num_aux -= 1;
    for other in others {
        let found = collect_one(other, chunk.clone(), &manifest);
        assert!(
            matches!(found, Err(CodecError::Foreign { .. })),
            "{other:?}"
        );
        let collector = AssignmentCollector::new(other).unwrap();
        let found = collector.finish(&manifest);
        assert!(
            matches!(found, Err(CodecError::Foreign { .. })),
            "{other:?}"
        );
    }
}

#[test]
fn chunks_of_another_witness_do_not_pass_under_this_manifest() {
    let (assignment, _, manifest) = small();
    let mut other = (*assignment).clone();
    other.aux[0] = Scalar::from(5);
    let (chunks, _) = encoded(&Arc::new(other), SMALL);
    let found = collected(facts_of(&assignment), &chunks, &manifest);
    assert_eq!(found, Err(CodecError::ChunkDigest { chunk: 0 }));
}

#[test]
fn a_value_at_the_modulus_is_named_by_vector_and_index() {
    let assignment = mixed(1, 2_000, 100.0);
    let (chunks, _) = encoded(&assignment, SMALL);
    let mut chunk = chunks[0].bytes.to_vec();
    // The chunk's frame, the block of one input (a bit that is set everywhere), the first dense block's frame.
    let at = HEADER_BYTES + 12 + 10 + 10 + 32 * 17;
    chunk[at..at + 32].fill(0xff);
    let block = HEADER_BYTES + 12 + 10;
    let header = Header {
        facts: facts_of(&assignment),
        mode: PayloadMode::Witness,
        block_len: BLOCK_LEN_MIN,
    };
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&header.digest().0);
    checksum.update(&1u32.to_le_bytes());
    checksum.update(&chunk[block..block + 2]);
    checksum.update(&chunk[block + 10..block + 10 + 32 * 1024]);
    chunk[block + 6..block + 10].copy_from_slice(&checksum.finalize().to_le_bytes());
    let mut collector = AssignmentCollector::new(facts_of(&assignment)).unwrap();
    assert_eq!(
        collector.push_chunk(0, chunk.into()),
        Err(CodecError::NonCanonicalScalar {
            vector: AssignmentVector::Aux,
            index: 17
        })
    );
}

#[test]
fn claims_of_size_reserve_nothing() {
    let facts = AssignmentFacts {
        num_inputs: 1,
        num_aux: u32::MAX as usize - 1,
        ..facts_of(&Assignment::default())
    };
    let header = Header {
        facts,
        mode: PayloadMode::Witness,
        block_len: BLOCK_LEN_MIN,
    };
    let mut chunk = header.encode().to_vec();
    chunk.extend([0; 8]);
    chunk.extend(4_000_000u32.to_le_bytes());
    let mut collector = AssignmentCollector::new(facts).unwrap();
    let found = collector.push_chunk(0, chunk.into());
    assert_eq!(found, Err(CodecError::Truncated { what: "chunk" }));

    let mut manifest = b"PMMANIFT".to_vec();
    manifest.extend(header.encode());
    manifest.extend(u32::MAX.to_le_bytes());
    manifest.extend(Digest::of(&manifest).0);
    let found = AssignmentCollector::new(facts).unwrap().finish(&manifest);
    assert_eq!(found, Err(CodecError::Truncated { what: "manifest" }));
}

#[test]
fn more_variables_than_can_be_coded_are_refused() {
    let facts = AssignmentFacts {
        num_aux: usize::MAX,
        ..facts_of(&Assignment::default())
    };
    let found = AssignmentCollector::new(facts).map(drop);
    assert!(matches!(found, Err(CodecError::TooManyVariables { .. })));
}

proptest! {
    #[test]
    fn any_bytes_are_an_assignment_or_an_error(
        junk in proptest::collection::vec(any::<u8>(), 0..400),
        at in any::<proptest::sample::Index>(),
        index in 0u32..3,
    ) {
        let (assignment, chunk, manifest) = small();
        let facts = facts_of(&assignment);
        let mut collector = AssignmentCollector::new(facts).unwrap();
        prop_assert!(collector.push_chunk(index, junk.clone().into()).is_err() || index > 0);
        prop_assert!(collector.finish(&junk).is_err());

        // The same bytes in the place of the end of real ones.
        let spliced = |bytes: &[u8]| [&bytes[..at.index(bytes.len())], &junk].concat();
        if let Ok(found) = collect_one(facts, spliced(&chunk).into(), &manifest) {
            prop_assert!(found == *assignment);
        }
        if let Ok(found) = collect_one(facts, chunk.clone(), &spliced(&manifest)) {
            prop_assert!(found == *assignment);
        }
    }
}
