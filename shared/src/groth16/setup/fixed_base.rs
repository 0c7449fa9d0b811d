//! Many multiples of one generator, by a table of its multiples.

use std::ops::{AddAssign, SubAssign};

use blst::{blst_p1, blst_p2, p1_affines, p2_affines};
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective};
use ff::PrimeField;
use group::Curve;
use rayon::prelude::*;

use super::super::Scalar;

/// Widest window: a table in G1 of this width (about 8 MB) still fits a common last-level cache.
const MAX_WINDOW_BITS: usize = 13;

/// Bits of a scalar, with the bit that keeps the last signed digit from carrying over.
const SCALAR_BITS: usize = 256;

/// Points that share one inversion. Below 768, from which on `blst` would use threads of its own.
const BATCH: usize = 512;

/// A group whose projective points can be made affine in batches.
pub(super) trait BatchAffine:
    Curve<Scalar = Scalar>
    + for<'a> AddAssign<&'a Self::AffineRepr>
    + for<'a> SubAssign<&'a Self::AffineRepr>
{
    /// Makes points affine by one inversion. None may be the identity.
    fn to_affines(points: &[Self]) -> Vec<Self::AffineRepr>;
}

impl BatchAffine for G1Projective {
    fn to_affines(points: &[Self]) -> Vec<G1Affine> {
        if points.is_empty() {
            return Vec::new();
        }
        let raw: Vec<blst_p1> = points.iter().map(|point| *point.as_ref()).collect();
        let wrap = |raw| {
            let mut point = G1Affine::default();
            *point.as_mut() = raw;
            point
        };
        let affines = p1_affines::from(&raw);
        affines.as_slice().iter().copied().map(wrap).collect()
    }
}

impl BatchAffine for G2Projective {
    fn to_affines(points: &[Self]) -> Vec<G2Affine> {
        if points.is_empty() {
            return Vec::new();
        }
        let raw: Vec<blst_p2> = points.iter().map(|point| *point.as_ref()).collect();
        let wrap = |raw| {
            let mut point = G2Affine::default();
            *point.as_mut() = raw;
            point
        };
        let affines = p2_affines::from(&raw);
        affines.as_slice().iter().copied().map(wrap).collect()
    }
}

/// Multiples of one generator: window i holds d·2^(i·width) of it for d from 1 to 2^(width − 1).
///
/// Scalars are written in signed digits, which halves the table.
pub(super) struct FixedBase<C: BatchAffine> {
    window_bits: usize,
    windows: Vec<Vec<C::AffineRepr>>,
}

impl<C: BatchAffine> FixedBase<C>
where
    C::AffineRepr: Send + Sync,
{
    /// Builds a table for a number of multiplications. The generator must not be the identity.
    pub(super) fn new(generator: C, num_scalars: usize) -> Self {
        let window_bits = best_window_bits(num_scalars);
        let mut bases = vec![generator];
        while bases.len() < SCALAR_BITS.div_ceil(window_bits) {
            let last = bases[bases.len() - 1];
            bases.push((0..window_bits).fold(last, |base, _| base.double()));
        }
        let multiples = |base: &C| {
            let mut next = *base;
            let mut affine = Vec::with_capacity(1 << (window_bits - 1));
            let mut batch = Vec::with_capacity(BATCH);
            for _ in 0..1usize << (window_bits - 1) {
                batch.push(next);
                next += base;
                if batch.len() == BATCH {
                    affine.append(&mut C::to_affines(&batch));
                    batch.clear();
                }
            }
            affine.append(&mut C::to_affines(&batch));
            affine
        };
        Self {
            window_bits,
            windows: bases.par_iter().map(multiples).collect(),
        }
    }

    /// The multiples by all scalars, none of which may be zero; `count` hears of every batch.
    pub(super) fn multiply(
        &self,
        scalars: &[Scalar],
        count: &(impl Fn(usize) + Sync),
    ) -> Vec<C::AffineRepr> {
        let batches = scalars.par_chunks(BATCH).flat_map_iter(|batch| {
            let multiples: Vec<C> = batch.iter().map(|scalar| self.multiple(scalar)).collect();
            count(batch.len());
            C::to_affines(&multiples)
        });
        batches.collect()
    }

    fn multiple(&self, scalar: &Scalar) -> C {
        let bytes = scalar.to_repr();
        let half = 1u32 << (self.window_bits - 1);
        let mut sum = C::identity();
        let mut carry = 0;
        for (window, multiples) in self.windows.iter().enumerate() {
            let digit = bits(&bytes, window * self.window_bits, self.window_bits) + carry;
            carry = u32::from(digit > half);
            if digit == 0 {
                continue;
            }
            if digit > half {
                let negated = (half << 1) - digit;
                if negated != 0 {
                    sum -= &multiples[negated as usize - 1];
                }
            } else {
                sum += &multiples[digit as usize - 1];
            }
        }
        debug_assert_eq!(carry, 0, "scalars are below 2²⁵⁵");
        sum
    }
}

/// The width with the fewest additions, table included.
fn best_window_bits(num_scalars: usize) -> usize {
    let additions =
        |bits: &usize| SCALAR_BITS.div_ceil(*bits) * (num_scalars + (1usize << (bits - 1)));
    (2..=MAX_WINDOW_BITS).min_by_key(additions).unwrap_or(2)
}

/// `count` bits (at most 16) of a little-endian number, from bit `start` on; zeros past its end.
fn bits(bytes: &[u8; 32], start: usize, count: usize) -> u32 {
    let byte = |i: usize| bytes.get(i).map_or(0, |byte| u32::from(*byte));
    let first = start / 8;
    let word = byte(first) | byte(first + 1) << 8 | byte(first + 2) << 16;
    (word >> (start % 8)) & ((1 << count) - 1)
}

#[cfg(test)]
mod tests {
    use ff::Field;
    use group::Group;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    use super::*;

    fn scalars() -> Vec<Scalar> {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut scalars = vec![Scalar::ONE, -Scalar::ONE, -Scalar::from(2), Scalar::from(2)];
        scalars.push(Scalar::from(1 << 12) - Scalar::ONE);
        scalars.push(Scalar::from(1 << 12));
        scalars.push(Scalar::from(1 << 13));
        scalars.extend((0..600).map(|_| Scalar::random(&mut rng)));
        scalars
    }

    #[test]
    fn multiples_equal_plain_multiplication_at_every_width() {
        let generator = G1Projective::generator();
        let scalars = scalars();
        // From a table narrower than any scalar deserves to the widest.
        for num_scalars in [1, 10, 600, 300_000] {
            let base = FixedBase::new(generator, num_scalars);
            let multiples = base.multiply(&scalars, &|_| {});
            for (scalar, multiple) in scalars.iter().zip(multiples) {
                assert_eq!(multiple, (generator * scalar).to_affine());
            }
        }
    }

    #[test]
    fn multiples_in_g2_equal_plain_multiplication() {
        let generator = G2Projective::generator().double();
        let scalars = &scalars()[..40];
        let multiples = FixedBase::new(generator, 100).multiply(scalars, &|_| {});
        for (scalar, multiple) in scalars.iter().zip(multiples) {
            assert_eq!(multiple, (generator * scalar).to_affine());
        }
    }

    #[test]
    fn no_scalars_give_no_points() {
        let base = FixedBase::new(G1Projective::generator(), 0);
        assert!(base.multiply(&[], &|_| {}).is_empty());
    }
}
