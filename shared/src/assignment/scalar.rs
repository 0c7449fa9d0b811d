//! Scalars between Montgomery form (in memory) and canonical form (on the wire).
//!
//! Zero and one are told apart in Montgomery form, without any multiplication: most of a witness is nothing else.

use blst::blst_fr;

use crate::groth16::Scalar;

/// Four little-endian limbs.
pub(super) type Limbs = [u64; 4];

/// Order q of the scalar field.
const MODULUS: Limbs = [
    0xffff_ffff_0000_0001,
    0x53bd_a402_fffe_5bfe,
    0x3339_d808_09a1_d805,
    0x73ed_a753_299d_7d48,
];

/// −1/q mod 2^64.
const MINUS_MODULUS_INVERSE: u64 = 0xffff_fffe_ffff_ffff;

/// R = 2^256 mod q: one, in Montgomery form.
pub(super) const ONE_MONTGOMERY: Limbs = [
    0x0000_0001_ffff_fffe,
    0x5884_b7fa_0003_4802,
    0x998c_4fef_ecbc_4ff5,
    0x1824_b159_acc5_056f,
];

/// R² mod q: multiplying by it brings canonical limbs into Montgomery form.
const R_SQUARED: Limbs = [
    0xc999_e990_f3f2_9c6d,
    0x2b6c_edcb_8792_5c23,
    0x05d3_1496_7254_398f,
    0x0748_d9d9_9f59_ff11,
];

/// Limbs of a scalar as it lies in memory (Montgomery form).
#[inline]
pub(super) fn montgomery(scalar: &Scalar) -> Limbs {
    blst_fr::from(*scalar).l
}

/// The scalar whose limbs in memory are these.
#[inline]
pub(super) fn from_montgomery(limbs: Limbs) -> Scalar {
    Scalar::from(blst_fr { l: limbs })
}

/// Canonical limbs of a scalar, below the modulus.
///
/// # Source
/// Montgomery reduction, word by word (Handbook of Applied Cryptography, algorithm 14.32): a product by one, without the
/// multiplications by zero.
#[inline]
pub(super) fn canonical(scalar: &Scalar) -> Limbs {
    let [mut t0, mut t1, mut t2, mut t3] = montgomery(scalar);
    for _ in 0..4 {
        let k = t0.wrapping_mul(MINUS_MODULUS_INVERSE);
        let carry = (u128::from(t0) + u128::from(k) * u128::from(MODULUS[0])) >> 64;
        let sum1 = u128::from(t1) + u128::from(k) * u128::from(MODULUS[1]) + carry;
        let sum2 = u128::from(t2) + u128::from(k) * u128::from(MODULUS[2]) + (sum1 >> 64);
        let sum3 = u128::from(t3) + u128::from(k) * u128::from(MODULUS[3]) + (sum2 >> 64);
        (t0, t1, t2, t3) = (low(sum1), low(sum2), low(sum3), low(sum3 >> 64));
    }
    // (x + m·q) / 2^256 with m < 2^256 is at most q, and q itself for no x that is reduced.
    [t0, t1, t2, t3]
}

/// The low half.
#[inline]
const fn low(sum: u128) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the high half is the carry"
    )]
    {
        sum as u64
    }
}

/// The scalar of canonical limbs; `None` if they are not below the modulus.
#[inline]
pub(super) fn from_canonical(limbs: Limbs) -> Option<Scalar> {
    is_below_modulus(&limbs).then(|| from_small_limbs(limbs))
}

/// The scalar of a small number.
#[inline]
pub(super) fn from_small(value: u64) -> Scalar {
    from_small_limbs([value, 0, 0, 0])
}

/// A Montgomery product x·R²/R puts R in; half the time of the field library's checked conversion. Needs limbs below the
/// modulus.
#[inline]
fn from_small_limbs(limbs: Limbs) -> Scalar {
    from_montgomery(limbs) * from_montgomery(R_SQUARED)
}

#[inline]
fn is_below_modulus(limbs: &Limbs) -> bool {
    // The highest limb decides for all but one value in 2^63.
    if limbs[3] != MODULUS[3] {
        return limbs[3] < MODULUS[3];
    }
    let mut borrow = false;
    for (limb, modulus) in limbs.iter().zip(MODULUS) {
        let (difference, low) = limb.overflowing_sub(modulus);
        let (_, high) = difference.overflowing_sub(u64::from(borrow));
        borrow = low | high;
    }
    borrow
}

/// Writes limbs as 32 little-endian bytes.
#[inline]
pub(super) const fn limbs_to_bytes(limbs: &Limbs) -> [u8; 32] {
    let words = [
        limbs[0].to_le_bytes(),
        limbs[1].to_le_bytes(),
        limbs[2].to_le_bytes(),
        limbs[3].to_le_bytes(),
    ];
    let mut bytes = [0; 32];
    bytes.copy_from_slice(words.as_flattened());
    bytes
}

/// Reads limbs from 32 little-endian bytes.
#[inline]
pub(super) fn limbs_from_bytes(bytes: &[u8; 32]) -> Limbs {
    let (words, _) = bytes.as_chunks::<8>();
    [0, 1, 2, 3].map(|limb| u64::from_le_bytes(words[limb]))
}

#[cfg(test)]
mod tests {
    use ff::Field;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn conversions_agree_with_the_field_library() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let random = (0..20_000).map(|_| Scalar::random(&mut rng));
        let small = [0u64, 1, 2, 255, 256, u64::MAX].map(Scalar::from);
        for scalar in random.chain(small).chain([-Scalar::ONE, -Scalar::from(7)]) {
            let limbs = canonical(&scalar);
            assert_eq!(limbs_to_bytes(&limbs), scalar.to_bytes_le());
            assert_eq!(limbs_from_bytes(&scalar.to_bytes_le()), limbs);
            assert_eq!(from_canonical(limbs), Some(scalar));
        }
        for small in [0, 1, 77, u64::MAX] {
            assert_eq!(from_small(small), Scalar::from(small));
        }
        assert_eq!(from_montgomery(ONE_MONTGOMERY), Scalar::ONE);
    }

    #[test]
    fn the_modulus_and_what_is_above_it_are_refused() {
        let mut above = MODULUS;
        above[0] += 1;
        let mut below = MODULUS;
        below[0] -= 1;
        assert_eq!(from_canonical(MODULUS), None);
        assert_eq!(from_canonical(above), None);
        assert_eq!(from_canonical([u64::MAX; 4]), None);
        assert_eq!(from_canonical([0, 0, 0, MODULUS[3] + 1]), None);
        assert_eq!(from_canonical(below), Some(-Scalar::ONE));
    }
}
