//! The two groups as the additions see them: affine points as pairs of coordinates, and the sums that leave them.

#![expect(
    unsafe_code,
    reason = "slices of blstrs points are seen as slices of coordinate pairs without a copy"
)]

use blst::{blst_fp, blst_fp2};
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective};
use group::Group;
use group::prime::PrimeCurveAffine;

use super::field::BaseField;

/// A point of a curve y² = x³ + b, or the identity as (0, 0), which lies on neither curve.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C)]
pub(super) struct Affine<F> {
    pub(super) x: F,
    pub(super) y: F,
}

impl<F: BaseField> Affine<F> {
    #[inline]
    pub(super) fn is_identity(&self) -> bool {
        self.x.is_zero() && self.y.is_zero()
    }

    /// The negative; the identity is its own.
    #[inline]
    pub(super) fn negated_if(self, is_negative: bool) -> Self {
        if is_negative {
            Self {
                x: self.x,
                y: self.y.neg(),
            }
        } else {
            self
        }
    }
}

/// A group with its affine and projective points, as `blstrs` has them.
pub(super) trait Curve: Send + Sync + 'static {
    /// Field of the coordinates.
    type Field: BaseField;
    /// Affine points, the elements of a proving key.
    type Affine: PrimeCurveAffine<Curve = Self::Projective> + Send + Sync;
    /// Points in the form in which few additions are quick.
    type Projective: Group + for<'a> std::ops::AddAssign<&'a Self::Affine> + Send + Sync;

    /// The same points as pairs of coordinates.
    fn coordinates(points: &[Self::Affine]) -> &[Affine<Self::Field>];

    /// The same point; its coordinates came from [`Curve::coordinates`] or from additions of such points.
    fn point(coordinates: Affine<Self::Field>) -> Self::Affine;
}

/// The group of A, C, and B in G1.
#[derive(Debug)]
pub(super) struct G1;

impl Curve for G1 {
    type Field = blst_fp;
    type Affine = G1Affine;
    type Projective = G1Projective;

    fn coordinates(points: &[G1Affine]) -> &[Affine<blst_fp>] {
        const { assert!(size_of::<G1Affine>() == size_of::<Affine<blst_fp>>()) };
        // SAFETY: `G1Affine` is `repr(transparent)` over `blst_p1_affine`, which is `repr(C)` with the fields x and y
        // of type `blst_fp`, as `Affine<blst_fp>` is; every bit pattern of both is valid; the lifetime is kept.
        unsafe { std::slice::from_raw_parts(points.as_ptr().cast(), points.len()) }
    }

    fn point(coordinates: Affine<blst_fp>) -> G1Affine {
        let mut point = G1Affine::default();
        point.as_mut().x = coordinates.x;
        point.as_mut().y = coordinates.y;
        point
    }
}

/// The group of B.
#[derive(Debug)]
pub(super) struct G2;

impl Curve for G2 {
    type Field = blst_fp2;
    type Affine = G2Affine;
    type Projective = G2Projective;

    fn coordinates(points: &[G2Affine]) -> &[Affine<blst_fp2>] {
        const { assert!(size_of::<G2Affine>() == size_of::<Affine<blst_fp2>>()) };
        // SAFETY: as in G1, with `blst_p2_affine` and `blst_fp2`.
        unsafe { std::slice::from_raw_parts(points.as_ptr().cast(), points.len()) }
    }

    fn point(coordinates: Affine<blst_fp2>) -> G2Affine {
        let mut point = G2Affine::default();
        point.as_mut().x = coordinates.x;
        point.as_mut().y = coordinates.y;
        point
    }
}
