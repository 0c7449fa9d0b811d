//! Additions of many pairs of affine points at the price of one inversion.
//!
//! An affine addition needs 1/(x₂ − x₁). Montgomery's trick inverts a batch of differences with one inversion and three
//! multiplications each, so an addition costs 5 multiplications and 1 squaring, against 8 and 2 of the cheapest mixed
//! addition without inversions.

use super::curve::Affine;
use super::field::BaseField;

/// Pairs per inversion. An inversion costs about as much as 150 multiplications, so 512 pairs bring its share below 5 %
/// of an addition; the scratch of more pairs would crowd the second-level cache.
const PAIRS: usize = 512;

/// A pair of points to add, and where the sum goes.
struct Pair<F> {
    left: Affine<F>,
    right: Affine<F>,
    out: usize,
    is_doubling: bool,
    /// x₂ − x₁, or 2·y₁ of a doubling; never zero.
    denominator: F,
    /// Product of the denominators before this one.
    product: F,
}

/// Collects pairs and adds them in batches.
pub(super) struct BatchAdder<F> {
    pairs: Vec<Pair<F>>,
}

impl<F: BaseField> BatchAdder<F> {
    pub(super) fn new() -> Self {
        Self {
            pairs: Vec::with_capacity(PAIRS),
        }
    }

    /// Adds two points into `sums[out]`, now or at the latest with [`BatchAdder::flush`].
    ///
    /// Only copies, so that the cache misses of scattered points overlap.
    #[inline]
    pub(super) fn add(
        &mut self,
        left: Affine<F>,
        right: Affine<F>,
        out: usize,
        sums: &mut [Affine<F>],
    ) {
        self.pairs.push(Pair {
            left,
            right,
            out,
            is_doubling: false,
            denominator: F::default(),
            product: F::default(),
        });
        if self.pairs.len() == PAIRS {
            self.flush(sums);
        }
    }

    /// Writes the sums that are still due.
    pub(super) fn flush(&mut self, sums: &mut [Affine<F>]) {
        if self.pairs.is_empty() {
            return;
        }
        let mut product = F::ONE;
        for pair in &mut self.pairs {
            match pair.denominator() {
                Denominator::Of { value, is_doubling } => {
                    pair.denominator = value;
                    pair.is_doubling = is_doubling;
                    pair.product = product;
                    product = product.mul(&value);
                }
                Denominator::NotNeeded { sum } => sums[pair.out] = sum,
            }
        }
        let mut inverse = product.invert();
        for pair in self.pairs.drain(..).rev() {
            // Left at zero where no denominator was needed.
            if pair.denominator.is_zero() {
                continue;
            }
            let reciprocal = inverse.mul(&pair.product);
            inverse = inverse.mul(&pair.denominator);
            sums[pair.out] = pair.sum(&reciprocal);
        }
    }
}

enum Denominator<F> {
    Of { value: F, is_doubling: bool },
    NotNeeded { sum: Affine<F> },
}

impl<F: BaseField> Pair<F> {
    fn denominator(&self) -> Denominator<F> {
        let (left, right) = (&self.left, &self.right);
        if left.is_identity() {
            return Denominator::NotNeeded { sum: *right };
        }
        if right.is_identity() {
            return Denominator::NotNeeded { sum: *left };
        }
        let difference = right.x.sub(&left.x);
        if !difference.is_zero() {
            return Denominator::Of {
                value: difference,
                is_doubling: false,
            };
        }
        // The same point twice, or a point and its negative. No point of odd order has y = 0.
        if left.y == right.y && !left.y.is_zero() {
            return Denominator::Of {
                value: left.y.add(&left.y),
                is_doubling: true,
            };
        }
        Denominator::NotNeeded {
            sum: Affine::default(),
        }
    }

    /// The sum, given the reciprocal of the denominator: the chord or tangent through both points.
    #[inline]
    fn sum(&self, reciprocal: &F) -> Affine<F> {
        let numerator = if self.is_doubling {
            let square = self.left.x.square();
            square.add(&square).add(&square)
        } else {
            self.right.y.sub(&self.left.y)
        };
        let slope = numerator.mul(reciprocal);
        let x = slope.square().sub(&self.left.x).sub(&self.right.x);
        let y = slope.mul(&self.left.x.sub(&x)).sub(&self.left.y);
        Affine { x, y }
    }
}
