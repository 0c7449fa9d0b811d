//! One piece of a multi-scalar multiplication: some windows of some terms, by Pippenger's method.

use std::ops::Range;

use group::Group;

use super::buckets::{Entry, sum_groups};
use super::curve::{Affine, Curve};
use super::scalars::Limbs;
use super::windows::Windows;

/// One product scalar·base, by their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term {
    /// Index of the base.
    pub(super) base: u32,
    /// Index of the scalar.
    pub(super) scalar: u32,
}

/// Sums digit·base over the terms, for each of some windows; one sum a window, not yet weighted with 2^(window·bits).
pub(super) fn sum_windows<C: Curve>(
    bases: &[C::Affine],
    terms: &[Term],
    scalars: &[Limbs],
    windows: &Windows,
    range: Range<usize>,
) -> Vec<C::Projective> {
    let (entries, ends) = sort_into_buckets(terms, scalars, windows, range.clone());
    let buckets = sum_groups(C::coordinates(bases), &entries, &ends);
    drop(entries);
    weigh_buckets::<C>(&buckets, windows, range.len())
}

/// Sorts the terms by bucket, window by window. Terms with digit 0 go nowhere.
///
/// Shapes: the ends of `range.len() · windows.num_buckets()` groups, in the order of magnitudes within each window.
fn sort_into_buckets(
    terms: &[Term],
    scalars: &[Limbs],
    windows: &Windows,
    range: Range<usize>,
) -> (Vec<Entry>, Vec<u32>) {
    let num_buckets = windows.num_buckets();
    let mut digits = Vec::with_capacity(range.len() * terms.len());
    let mut ends = vec![0u32; range.len() * num_buckets];
    for (row, window) in range.clone().enumerate() {
        let counts = &mut ends[row * num_buckets..][..num_buckets];
        for term in terms {
            let digit = windows.digit(&scalars[term.scalar as usize], window);
            digits.push(digit);
            if digit != 0 {
                counts[digit.unsigned_abs() as usize - 1] += 1;
            }
        }
    }
    // Counts become starts, and starts become ends as the entries are placed.
    let mut total = 0;
    for end in &mut ends {
        total += std::mem::replace(end, total);
    }
    let mut entries = vec![Entry::new(0, false); total as usize];
    for row in 0..range.len() {
        let ends = &mut ends[row * num_buckets..][..num_buckets];
        for (term, &digit) in terms.iter().zip(&digits[row * terms.len()..]) {
            if digit != 0 {
                let end = &mut ends[digit.unsigned_abs() as usize - 1];
                entries[*end as usize] = Entry::new(term.base, digit < 0);
                *end += 1;
            }
        }
    }
    (entries, ends)
}

/// Sums magnitude·bucket over the buckets of each window.
///
/// A magnitude is written high·2^w + low, so the buckets of a window lie in a table of rows (high) and columns (low), and
/// the sum is 2^w · Σ high·row + Σ low·column. That takes two batched additions a bucket for the sums of rows and columns,
/// and running sums only over those: the usual running sum over all buckets takes two unbatched additions a bucket.
fn weigh_buckets<C: Curve>(
    buckets: &[Affine<C::Field>],
    windows: &Windows,
    num_windows: usize,
) -> Vec<C::Projective> {
    let num_buckets = windows.num_buckets();
    let low_bits = (windows.bits() - 1) / 2;
    let (num_columns, num_rows) = (1usize << low_bits, num_buckets >> low_bits);

    let mut entries = Vec::with_capacity(2 * buckets.len());
    let mut ends = Vec::with_capacity(num_windows * (num_rows + num_columns));
    for first in (0..num_windows).map(|window| window * num_buckets) {
        let mut end_line = |magnitudes: &mut dyn Iterator<Item = usize>| {
            for magnitude in magnitudes.filter(|magnitude| (1..=num_buckets).contains(magnitude)) {
                let bucket = first + magnitude - 1;
                if !buckets[bucket].is_identity() {
                    entries.push(Entry::new(index(bucket), false));
                }
            }
            ends.push(index(entries.len()));
        };
        for high in 1..=num_rows {
            end_line(&mut (0..num_columns).map(|low| (high << low_bits) + low));
        }
        for low in 1..num_columns {
            end_line(&mut (0..=num_rows).map(|high| (high << low_bits) + low));
        }
    }
    let lines = sum_groups(buckets, &entries, &ends);
    lines
        .chunks(num_rows + num_columns - 1)
        .map(|lines| {
            let (rows, columns) = lines.split_at(num_rows);
            let mut sum = running_sum::<C>(rows);
            for _ in 0..low_bits {
                sum = sum.double();
            }
            sum + running_sum::<C>(columns)
        })
        .collect()
}

/// Σ (i + 1)·pointᵢ.
fn running_sum<C: Curve>(points: &[Affine<C::Field>]) -> C::Projective {
    let mut tail = C::Projective::identity();
    let mut sum = C::Projective::identity();
    for point in points.iter().rev() {
        tail += &C::point(*point);
        sum += tail;
    }
    sum
}

/// An index that the entries can hold; what is larger was refused when the circuit was loaded.
fn index(i: usize) -> u32 {
    u32::try_from(i).expect("pieces hold fewer points than entries can tell apart")
}
