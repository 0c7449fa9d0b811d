//! Scalars cut into signed digits: which bucket a point goes to in each window of Pippenger's method.

use super::scalars::Limbs;

/// Widest window tried: 2¹⁵ buckets of 96 or 192 bytes are 3 or 6 MiB a core.
const MAX_BITS: u32 = 16;
/// Cost of adding one point into a bucket, in multiplications (batched affine addition with its share of the inversion).
const ADDITION_COST: f64 = 6.5;
/// Cost of folding one bucket into the sum of its window: one addition to its row and one to its column.
const BUCKET_COST: f64 = 2.0 * ADDITION_COST;
/// Cost of one step of a running sum over rows or columns, two additions in projective form.
const STEP_COST: f64 = 26.0;
/// Cost of a round of additions that an inversion of its own must pay for.
const WINDOW_COST: f64 = 300.0;

/// A cut of scalars below 2^`scalar_bits` into windows of `bits` bits.
///
/// Digit j of a scalar lies in [−2^(bits−1), 2^(bits−1)], and Σ digitⱼ·2^(j·bits) is the scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Windows {
    bits: u32,
    count: u32,
}

impl Windows {
    /// Cuts into windows of a given width. The last window holds at least one bit that is zero in every scalar, so that
    /// no digit carries out of it.
    pub(super) const fn new(scalar_bits: u32, bits: u32) -> Self {
        Self {
            bits,
            count: scalar_bits / bits + 1,
        }
    }

    /// The cut that costs least for a number of terms.
    pub(super) fn cheapest(scalar_bits: u32, num_terms: usize) -> Self {
        let cost = |bits: &u32| {
            let windows = Self::new(scalar_bits, *bits);
            let buckets = windows.num_buckets() as f64;
            let window = num_terms as f64 * ADDITION_COST
                + buckets * BUCKET_COST
                + 2.0 * buckets.sqrt() * STEP_COST
                + WINDOW_COST;
            f64::from(windows.count) * window
        };
        let bits = (1..=MAX_BITS)
            .min_by(|left, right| cost(left).total_cmp(&cost(right)))
            .unwrap_or(1);
        Self::new(scalar_bits, bits)
    }

    /// Number of windows.
    pub(super) const fn count(&self) -> usize {
        self.count as usize
    }

    /// Bits of a window.
    pub(super) const fn bits(&self) -> u32 {
        self.bits
    }

    /// Buckets of one window: one for each magnitude from 1 to 2^(bits−1).
    pub(super) const fn num_buckets(&self) -> usize {
        1 << (self.bits - 1)
    }

    /// The signed digit of a scalar in one window (Booth's encoding): its bits, plus the bit below them, minus 2^bits
    /// where the highest is set, which the window above adds back. So every window is read on its own, without a carry.
    #[inline]
    pub(super) fn digit(&self, scalar: &Limbs, window: usize) -> i32 {
        let bit = window * self.bits as usize;
        // One bit more at the low end; below bit 0 there is a zero.
        let raw = if bit == 0 {
            scalar[0] << 1
        } else {
            bits_from(scalar, bit - 1)
        };
        #[expect(clippy::cast_possible_truncation, reason = "masked to at most 17 bits")]
        let raw = (raw & ((2 << self.bits) - 1)) as i32;
        let highest = raw >> self.bits;
        (raw >> 1) + (raw & 1) - (highest << self.bits)
    }
}

/// At least 48 bits of a scalar from a bit on, zeros past its end.
#[inline]
const fn bits_from(scalar: &Limbs, bit: usize) -> u64 {
    let (limb, shift) = (bit / 64, bit % 64);
    if limb >= scalar.len() {
        return 0;
    }
    let low = scalar[limb] >> shift;
    if shift > 16 && limb + 1 < scalar.len() {
        low | scalar[limb + 1] << (64 - shift)
    } else {
        low
    }
}

#[cfg(test)]
mod tests {
    use ff::{Field, PrimeField};
    use proofmill_shared::groth16::Scalar;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    use super::super::scalars::{SCALAR_BITS, Scalars};
    use super::*;

    #[test]
    fn digits_of_every_width_make_up_the_scalar() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let mut values = vec![Scalar::ZERO, Scalar::ONE, -Scalar::ONE, -Scalar::from(2u64)];
        values.extend((0..20).map(|_| Scalar::random(&mut rng)));
        values.extend((0..64).map(|bit| Scalar::from(1u64 << bit)));
        let scalars = Scalars::new(&[&values]);
        for bits in 1..=MAX_BITS {
            let windows = Windows::new(SCALAR_BITS, bits);
            let base = Scalar::from(1u64 << bits);
            for (value, limbs) in values.iter().zip(&scalars.limbs) {
                let mut sum = Scalar::ZERO;
                for window in (0..windows.count()).rev() {
                    let digit = windows.digit(limbs, window);
                    assert!(digit.unsigned_abs() as usize <= windows.num_buckets());
                    let magnitude = Scalar::from(u64::from(digit.unsigned_abs()));
                    sum = sum * base + if digit < 0 { -magnitude } else { magnitude };
                }
                assert_eq!(sum, *value, "{bits} bits");
            }
        }
    }

    #[test]
    fn small_scalars_have_no_digit_beyond_their_own_bits() {
        for bits in 1..=MAX_BITS {
            let windows = Windows::new(16, bits);
            for value in [1u64, 2, 0x7fff, 0x8000, 0xffff] {
                let limbs = [value, 0, 0, 0];
                let digit =
                    |window| i64::from(windows.digit(&limbs, window)) << (window * bits as usize);
                assert_eq!((0..windows.count()).map(digit).sum::<i64>(), value as i64);
            }
        }
    }

    #[test]
    fn more_terms_get_wider_windows() {
        let bits = |num_terms| Windows::cheapest(SCALAR_BITS, num_terms).bits();
        assert!(bits(1) < bits(200));
        assert!(bits(200) < bits(1 << 14));
        assert!(bits(1 << 14) < bits(1 << 20));
        assert_eq!(Scalar::NUM_BITS, SCALAR_BITS);
    }
}
