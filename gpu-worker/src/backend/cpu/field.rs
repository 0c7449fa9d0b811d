//! The base fields of both groups: coordinates of points, in Montgomery form, on `blst`'s assembly.

#![expect(unsafe_code, reason = "blst's field functions take raw pointers")]

use std::mem::MaybeUninit;

use blst::{
    blst_fp, blst_fp_add, blst_fp_cneg, blst_fp_eucl_inverse, blst_fp_mul, blst_fp_sqr,
    blst_fp_sub, blst_fp2, blst_fp2_add, blst_fp2_cneg, blst_fp2_eucl_inverse, blst_fp2_mul,
    blst_fp2_sqr, blst_fp2_sub,
};

/// A field whose elements are the coordinates of points. The zero bit pattern is zero.
pub(super) trait BaseField: Copy + Default + PartialEq + Send + Sync + 'static {
    /// One.
    const ONE: Self;

    /// The sum.
    fn add(&self, other: &Self) -> Self;
    /// The difference.
    fn sub(&self, other: &Self) -> Self;
    /// The product.
    fn mul(&self, other: &Self) -> Self;
    /// The square.
    fn square(&self) -> Self;
    /// The negative.
    fn neg(&self) -> Self;
    /// The inverse; zero for zero.
    fn invert(&self) -> Self;
    /// Whether it is zero.
    fn is_zero(&self) -> bool;
}

/// Calls a `blst` function that writes a result and reads operands.
macro_rules! call {
    ($function:ident, $($operand:expr),+) => {{
        let mut out = MaybeUninit::uninit();
        // SAFETY: every operand is a reference to an initialised element or a plain value, `out` is valid for writing
        // one element, and the function writes all of it.
        unsafe {
            $function(out.as_mut_ptr(), $($operand),+);
            out.assume_init()
        }
    }};
}

/// Montgomery form of one: 2³⁸⁴ mod p.
const FP_ONE: blst_fp = blst_fp {
    l: [
        0x7609_0000_0002_fffd,
        0xebf4_000b_c40c_0002,
        0x5f48_9857_53c7_58ba,
        0x77ce_5853_7052_5745,
        0x5c07_1a97_a256_ec6d,
        0x15f6_5ec3_fa80_e493,
    ],
};

impl BaseField for blst_fp {
    const ONE: Self = FP_ONE;

    #[inline]
    fn add(&self, other: &Self) -> Self {
        call!(blst_fp_add, self, other)
    }

    #[inline]
    fn sub(&self, other: &Self) -> Self {
        call!(blst_fp_sub, self, other)
    }

    #[inline]
    fn mul(&self, other: &Self) -> Self {
        call!(blst_fp_mul, self, other)
    }

    #[inline]
    fn square(&self) -> Self {
        call!(blst_fp_sqr, self)
    }

    #[inline]
    fn neg(&self) -> Self {
        call!(blst_fp_cneg, self, true)
    }

    fn invert(&self) -> Self {
        call!(blst_fp_eucl_inverse, self)
    }

    #[inline]
    fn is_zero(&self) -> bool {
        self.l.iter().fold(0, |bits, limb| bits | limb) == 0
    }
}

impl BaseField for blst_fp2 {
    const ONE: Self = Self {
        fp: [FP_ONE, blst_fp { l: [0; 6] }],
    };

    #[inline]
    fn add(&self, other: &Self) -> Self {
        call!(blst_fp2_add, self, other)
    }

    #[inline]
    fn sub(&self, other: &Self) -> Self {
        call!(blst_fp2_sub, self, other)
    }

    #[inline]
    fn mul(&self, other: &Self) -> Self {
        call!(blst_fp2_mul, self, other)
    }

    #[inline]
    fn square(&self) -> Self {
        call!(blst_fp2_sqr, self)
    }

    #[inline]
    fn neg(&self) -> Self {
        call!(blst_fp2_cneg, self, true)
    }

    fn invert(&self) -> Self {
        call!(blst_fp2_eucl_inverse, self)
    }

    #[inline]
    fn is_zero(&self) -> bool {
        self.fp[0].is_zero() && self.fp[1].is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laws_hold<F: BaseField + std::fmt::Debug>(a: F, b: F) {
        assert_eq!(a.mul(&F::ONE), a);
        assert_eq!(a.add(&b).sub(&b), a);
        assert_eq!(a.square(), a.mul(&a));
        assert_eq!(a.mul(&a.invert()), F::ONE);
        assert!(a.add(&a.neg()).is_zero());
        assert!(F::default().is_zero());
        assert!(!F::ONE.is_zero());
    }

    #[test]
    fn field_laws_hold_in_both_fields() {
        let two = FP_ONE.add(&FP_ONE);
        let five = two.square().add(&FP_ONE);
        laws_hold(two, five);
        laws_hold(
            blst_fp2 { fp: [two, five] },
            blst_fp2 { fp: [five, FP_ONE] },
        );
    }
}
