//! How small encodings are, against the entropy of what is in them.

use super::*;

/// Bits of a random scalar: log2 of the modulus.
const DENSE_BITS: f64 = 254.857;

/// Bytes of a whole encoding with blocks and chunks of full size.
fn shipped(assignment: &Arc<Assignment>) -> f64 {
    let plan = ChunkPlan::for_entry_limit(CHUNK_BYTES_MAX).unwrap();
    let (chunks, manifest) = encoded(assignment, plan);
    assert_eq!(
        manifest.payload_bytes(),
        chunks
            .iter()
            .map(|chunk| chunk.bytes.len() as u64)
            .sum::<u64>()
    );
    (manifest.payload_bytes() + manifest.encode().len() as u64) as f64
}

#[test]
fn bits_with_rare_dense_values_stay_within_a_tenth_of_their_entropy() {
    for percent in [0.1, 1.6, 10.0] {
        let assignment = mixed(40, 300_000, percent);
        let count = assignment.aux.len() as f64;
        let is_bit = |value: &&Scalar| **value == Scalar::ZERO || **value == Scalar::ONE;
        let bits = assignment.aux.iter().filter(is_bit).count() as f64;
        let dense = count - bits;
        let positions = bits * (count / bits).log2() + dense * (count / dense).log2();
        let entropy_bytes = (positions + bits + dense * DENSE_BITS) / 8.0;
        let ratio = shipped(&assignment) / entropy_bytes;
        assert!(
            ratio < 1.1,
            "{percent} % dense: {ratio:.4} times the entropy"
        );
    }
}

#[test]
fn a_dense_witness_takes_hardly_more_than_its_scalars() {
    let assignment = mixed(40, 200_000, 100.0);
    let per_scalar = shipped(&assignment) / 200_040.0;
    assert!(per_scalar <= 32.1, "{per_scalar:.4} bytes a scalar");
}

#[test]
fn small_values_take_their_width() {
    let aux = (0..200_000u64)
        .map(|i| Scalar::from(i * 31 % 65_536))
        .collect();
    let assignment = Arc::new(Assignment::new(vec![Scalar::ONE], aux));
    let per_scalar = shipped(&assignment) / 200_001.0;
    assert!(per_scalar <= 2.01, "{per_scalar:.4} bytes a scalar");
}

#[test]
fn chunks_are_of_one_to_four_mebibytes() {
    let assignment = mixed(40, 300_000, 60.0);
    let plan = ChunkPlan::for_entry_limit(CHUNK_BYTES_MAX).unwrap();
    let (chunks, _) = encoded(&assignment, plan);
    let (last, full) = chunks.split_last().unwrap();
    assert!(full.len() > 2);
    for chunk in full {
        assert!((CHUNK_BYTES_MIN..=CHUNK_BYTES_MAX).contains(&chunk.bytes.len()));
    }
    assert!(last.bytes.len() <= CHUNK_BYTES_MAX);
}
