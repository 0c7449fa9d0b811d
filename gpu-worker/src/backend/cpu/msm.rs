//! One multi-scalar multiplication as independent pieces of about equal work, and the sum of their results.

use std::ops::Range;
use std::sync::OnceLock;

use group::Group;
use group::prime::PrimeCurveAffine;
use rayon::prelude::*;

use super::buckets::{Entry, sum_groups};
use super::curve::Curve;
use super::pippenger::{Term, sum_windows};
use super::scalars::{Limbs, SCALAR_BITS, SMALL_BITS, Scalars, Weight};
use super::windows::Windows;

/// Most terms of a piece: bounds its scratch to about 100 bytes (G1) a term.
const MAX_PIECE_TERMS: usize = 1 << 18;
/// Least additions worth a piece of their own, so that few terms do not pay for an inversion in every window.
const MIN_PIECE_ADDITIONS: usize = 1 << 12;

/// What the queue of pieces needs to know of a multiplication, whatever its group.
pub(super) trait Pieces: Sync {
    /// Number of pieces.
    fn len(&self) -> usize;

    /// Computes one piece; each is computed once.
    fn compute(&self, piece: usize);
}

/// A multiplication Σ scalarᵢ·baseᵢ, cut into pieces.
pub(super) struct Msm<'a, C: Curve> {
    bases: &'a [C::Affine],
    scalars: &'a [Limbs],
    ones: Vec<Entry>,
    passes: [Pass; 2],
    pieces: Vec<Piece<C>>,
}

/// Terms whose scalars have the same number of bits, with the windows these are cut into.
struct Pass {
    terms: Vec<Term>,
    windows: Windows,
}

struct Piece<C: Curve> {
    work: Work,
    sums: OnceLock<Vec<C::Projective>>,
}

enum Work {
    /// Bases whose scalar is one.
    Ones(Range<usize>),
    /// Some windows of some terms of a pass.
    Windows {
        pass: usize,
        terms: Range<usize>,
        windows: Range<usize>,
    },
}

impl<'a, C: Curve> Msm<'a, C> {
    /// Sorts the terms by weight and cuts them into pieces for `num_threads` threads.
    ///
    /// Shapes: base i is multiplied with scalar `columns[i]`, or with scalar i where there are no columns. There are at
    /// most [`Entry::MAX_POINTS`] bases.
    pub(super) fn new(
        bases: &'a [C::Affine],
        columns: Option<&[u32]>,
        scalars: &'a Scalars,
        num_threads: usize,
    ) -> Self {
        let term = |base: u32| Term {
            base,
            scalar: columns.map_or(base, |columns| columns[base as usize]),
        };
        let of_weight = |weight: Weight| {
            let num_bases = u32::try_from(bases.len()).expect("loading refuses longer queries");
            (0..num_bases)
                .into_par_iter()
                .map(term)
                .filter(move |term| scalars.weights[term.scalar as usize] == weight)
        };
        let ones: Vec<_> = of_weight(Weight::One)
            .map(|term| Entry::new(term.base, false))
            .collect();
        let pass = |weight, scalar_bits| {
            let terms: Vec<_> = of_weight(weight).collect();
            let num_terms = terms.len().min(MAX_PIECE_TERMS);
            let windows = Windows::cheapest(scalar_bits, num_terms);
            Pass { terms, windows }
        };
        let passes = [
            pass(Weight::Dense, SCALAR_BITS),
            pass(Weight::Small, SMALL_BITS),
        ];
        let mut works = Vec::new();
        for (i, pass) in passes.iter().enumerate() {
            pass.cut(i, &mut works);
        }
        cut_ones(ones.len(), num_threads, &mut works);
        let piece = |work| Piece {
            work,
            sums: OnceLock::new(),
        };
        Self {
            bases,
            scalars: &scalars.limbs,
            ones,
            passes,
            pieces: works.into_iter().map(piece).collect(),
        }
    }

    /// Adds up the pieces; all have been computed.
    pub(super) fn sum(&self) -> C::Projective {
        let mut sum = C::Projective::identity();
        let mut windows = self
            .passes
            .each_ref()
            .map(|pass| vec![C::Projective::identity(); pass.windows.count()]);
        for piece in &self.pieces {
            let sums = piece.sums.get().map_or(&[][..], Vec::as_slice);
            match &piece.work {
                Work::Ones(_) => sums.iter().for_each(|one| sum += one),
                Work::Windows {
                    pass,
                    windows: range,
                    ..
                } => {
                    let windows = &mut windows[*pass][range.clone()];
                    for (window, part) in windows.iter_mut().zip(sums) {
                        *window += part;
                    }
                }
            }
        }
        for (pass, windows) in self.passes.iter().zip(&windows) {
            if !pass.terms.is_empty() {
                sum += weigh_windows::<C>(windows, pass.windows.bits());
            }
        }
        sum
    }
}

impl<C: Curve> Pieces for Msm<'_, C> {
    fn len(&self) -> usize {
        self.pieces.len()
    }

    fn compute(&self, piece: usize) {
        let piece = &self.pieces[piece];
        piece.sums.get_or_init(|| match &piece.work {
            Work::Ones(range) => {
                let entries = &self.ones[range.clone()];
                let end = u32::try_from(entries.len()).expect("pieces are short");
                let sums = sum_groups(C::coordinates(self.bases), entries, &[end]);
                sums.into_iter()
                    .map(|sum| C::point(sum).to_curve())
                    .collect()
            }
            Work::Windows {
                pass,
                terms,
                windows,
            } => {
                let pass = &self.passes[*pass];
                sum_windows::<C>(
                    self.bases,
                    &pass.terms[terms.clone()],
                    self.scalars,
                    &pass.windows,
                    windows.clone(),
                )
            }
        });
    }
}

impl Pass {
    /// Cuts terms into equal parts no longer than a piece may be, and each part into runs of windows.
    fn cut(&self, pass: usize, works: &mut Vec<Work>) {
        for terms in equal_parts(self.terms.len(), MAX_PIECE_TERMS) {
            let windows_a_piece = MIN_PIECE_ADDITIONS.div_ceil(terms.len());
            for windows in equal_parts(self.windows.count(), windows_a_piece) {
                works.push(Work::Windows {
                    pass,
                    terms: terms.clone(),
                    windows,
                });
            }
        }
    }
}

/// Cuts the ones into a few parts a thread.
fn cut_ones(num_ones: usize, num_threads: usize, works: &mut Vec<Work>) {
    let most = (num_ones / (2 * num_threads).max(1)).clamp(MIN_PIECE_ADDITIONS, MAX_PIECE_TERMS);
    works.extend(equal_parts(num_ones, most).map(Work::Ones));
}

/// Cuts 0..len into as few parts of at most `most` as there can be, as equal as they can be.
fn equal_parts(len: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let num_parts = len.div_ceil(most.max(1));
    (0..num_parts).map(move |part| len * part / num_parts..len * (part + 1) / num_parts)
}

/// Σ windowⱼ·2^(j·bits), from the highest window down.
fn weigh_windows<C: Curve>(windows: &[C::Projective], bits: u32) -> C::Projective {
    let mut sum = C::Projective::identity();
    for window in windows.iter().rev() {
        for _ in 0..bits {
            sum = sum.double();
        }
        sum += window;
    }
    sum
}

#[cfg(test)]
mod tests;
