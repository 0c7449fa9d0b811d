//! Scalars as the multiplications read them: canonical, and sorted by how much work they are.

use ff::PrimeField;
use proofmill_shared::groth16::Scalar;
use rayon::prelude::*;

/// Bits of a canonical scalar.
pub(super) const SCALAR_BITS: u32 = Scalar::NUM_BITS;
/// Bits of a scalar that counts as small. Circuits are full of bytes, counters and 16-bit limbs.
pub(super) const SMALL_BITS: u32 = 16;

/// A canonical scalar in 64-bit limbs, least significant first.
pub(super) type Limbs = [u64; 4];

/// How much work a scalar is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// 0: none.
    Zero,
    /// 1: an addition.
    One,
    /// Below 2^[`SMALL_BITS`].
    Small,
    /// Any other.
    Dense,
}

/// Scalars with their weights; both in the order of the scalars given. Secret: no `Debug`.
pub(super) struct Scalars {
    pub(super) limbs: Vec<Limbs>,
    pub(super) weights: Vec<Weight>,
}

impl Scalars {
    /// Reads scalars out of their Montgomery form.
    pub(super) fn new(values: &[&[Scalar]]) -> Self {
        let len = values.iter().map(|values| values.len()).sum();
        let mut all = Vec::with_capacity(len);
        for values in values {
            all.par_extend(values.par_iter().map(limbs));
        }
        let mut weights = Vec::with_capacity(len);
        weights.par_extend(all.par_iter().map(weight));
        Self {
            limbs: all,
            weights,
        }
    }
}

fn limbs(value: &Scalar) -> Limbs {
    let bytes = value.to_bytes_le();
    let (limbs, _) = bytes.as_chunks::<8>();
    [0, 1, 2, 3].map(|i| u64::from_le_bytes(limbs[i]))
}

const fn weight(limbs: &Limbs) -> Weight {
    if limbs[1] | limbs[2] | limbs[3] != 0 {
        return Weight::Dense;
    }
    match limbs[0] {
        0 => Weight::Zero,
        1 => Weight::One,
        2..=0xffff => Weight::Small,
        _ => Weight::Dense,
    }
}
