//! Sums of many groups of points at once: the buckets of Pippenger's method, by rounds of batched affine additions.

use super::batch::BatchAdder;
use super::curve::Affine;
use super::field::BaseField;

/// A reference to a point: its index, and in the lowest bit whether it is to be negated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry(u32);

impl Entry {
    /// Most points that entries can tell apart.
    pub(super) const MAX_POINTS: usize = 1 << 31;

    #[inline]
    pub(super) const fn new(index: u32, is_negative: bool) -> Self {
        Self(index << 1 | is_negative as u32)
    }

    #[inline]
    fn load<F: BaseField>(self, points: &[Affine<F>]) -> Affine<F> {
        points[(self.0 >> 1) as usize].negated_if(self.0 & 1 == 1)
    }
}

/// Sums the points of each group. Group g holds the entries from `ends[g − 1]` (or 0) to `ends[g]`, exclusive.
///
/// Shapes: one sum per group; the identity for an empty one.
pub(super) fn sum_groups<F: BaseField>(
    points: &[Affine<F>],
    entries: &[Entry],
    ends: &[u32],
) -> Vec<Affine<F>> {
    let mut adder = BatchAdder::new();
    let mut layout = Layout::new(ends);
    let mut current = vec![Affine::default(); layout.num_out];
    layout.pair_up(&mut adder, &mut current, |k| entries[k].load(points));
    let mut next = Vec::new();
    while let Some(halved) = layout.next() {
        layout = halved;
        next.clear();
        next.resize(layout.num_out, Affine::default());
        layout.pair_up(&mut adder, &mut next, |k| current[k]);
        std::mem::swap(&mut current, &mut next);
    }
    let mut sums = vec![Affine::default(); ends.len()];
    for (group, sum) in layout.groups.iter().zip(current) {
        sums[group.index as usize] = sum;
    }
    sums
}

/// Where the points of the non-empty groups lie before and after a round that adds neighbours.
struct Layout {
    groups: Vec<Group>,
    /// Points after the round; at least one a group.
    num_out: usize,
}

#[derive(Clone, Copy)]
struct Group {
    /// Which of the caller's groups.
    index: u32,
    /// Points before the round.
    len: u32,
    /// Where they start.
    start: u32,
}

impl Layout {
    fn new(ends: &[u32]) -> Self {
        let mut groups = Vec::with_capacity(ends.len());
        let mut start = 0;
        for (index, &end) in (0u32..).zip(ends) {
            if end > start {
                groups.push(Group {
                    index,
                    len: end - start,
                    start,
                });
            }
            start = end;
        }
        Self::of(groups)
    }

    fn of(groups: Vec<Group>) -> Self {
        let num_out = groups
            .iter()
            .map(|group| group.len.div_ceil(2) as usize)
            .sum();
        Self { groups, num_out }
    }

    /// The layout of the round after this one; `None` once every group is one point.
    fn next(&self) -> Option<Self> {
        if self.num_out == self.groups.len() {
            return None;
        }
        let mut start = 0;
        let groups = self.groups.iter().map(|group| {
            let len = group.len.div_ceil(2);
            let halved = Group {
                index: group.index,
                len,
                start,
            };
            start += len;
            halved
        });
        Some(Self::of(groups.collect()))
    }

    /// Adds neighbours within every group; an odd last point moves on as it is.
    fn pair_up<F: BaseField>(
        &self,
        adder: &mut BatchAdder<F>,
        out: &mut [Affine<F>],
        load: impl Fn(usize) -> Affine<F>,
    ) {
        let mut to = 0;
        for group in &self.groups {
            let start = group.start as usize;
            let len = group.len as usize;
            for pair in 0..len / 2 {
                adder.add(load(start + 2 * pair), load(start + 2 * pair + 1), to, out);
                to += 1;
            }
            if len % 2 == 1 {
                out[to] = load(start + len - 1);
                to += 1;
            }
        }
        adder.flush(out);
    }
}

#[cfg(test)]
mod tests {
    use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
    use ff::Field;
    use group::Group;
    use group::prime::PrimeCurveAffine;
    use rand_chacha::ChaCha8Rng;
    use rand_core::{RngCore, SeedableRng};

    use super::super::curve::{Curve, G1, G2};
    use super::*;

    /// Sums the groups one addition at a time.
    fn naive<C: Curve>(points: &[C::Affine], groups: &[Vec<(u32, bool)>]) -> Vec<C::Projective> {
        let sum = |group: &Vec<(u32, bool)>| {
            group.iter().fold(C::Projective::identity(), |sum, entry| {
                let point = points[entry.0 as usize].to_curve();
                if entry.1 { sum - point } else { sum + point }
            })
        };
        groups.iter().map(sum).collect()
    }

    fn agrees_with_naive<C: Curve>(points: &[C::Affine], groups: &[Vec<(u32, bool)>]) {
        let entries: Vec<_> = groups
            .iter()
            .flatten()
            .map(|entry| Entry::new(entry.0, entry.1))
            .collect();
        let mut end = 0;
        let ends: Vec<_> = groups
            .iter()
            .map(|group| {
                end += u32::try_from(group.len()).unwrap();
                end
            })
            .collect();
        let sums = sum_groups(C::coordinates(points), &entries, &ends);
        let sums: Vec<_> = sums
            .into_iter()
            .map(|sum| C::point(sum).to_curve())
            .collect();
        assert!(sums == naive::<C>(points, groups));
    }

    fn groups_of(rng: &mut ChaCha8Rng, lens: &[usize], num_points: u32) -> Vec<Vec<(u32, bool)>> {
        let group = |len: &usize| {
            let entry = |_| {
                (
                    rng.next_u32() % num_points,
                    rng.next_u32().is_multiple_of(2),
                )
            };
            (0..*len).map(entry).collect()
        };
        lens.iter().map(group).collect()
    }

    #[test]
    fn group_sums_agree_with_single_additions_in_g1() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        // Few distinct points: doublings and cancellations happen in every round.
        let mut points: Vec<G1Affine> = (0..5)
            .map(|_| (G1Projective::generator() * Scalar::random(&mut rng)).into())
            .collect();
        points.push(G1Affine::identity());
        let groups = groups_of(&mut rng, &[0, 1, 2, 3, 0, 7, 64, 1500, 1, 33, 0], 6);
        agrees_with_naive::<G1>(&points, &groups);
    }

    #[test]
    fn group_sums_agree_with_single_additions_in_g2() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let points: Vec<G2Affine> = (0..4)
            .map(|_| (G2Projective::generator() * Scalar::random(&mut rng)).into())
            .collect();
        let groups = groups_of(&mut rng, &[2, 2, 2, 2, 700, 0, 1], 4);
        agrees_with_naive::<G2>(&points, &groups);
    }

    #[test]
    fn a_point_doubles_and_cancels() {
        let point = G1Affine::generator();
        let groups = [
            vec![(0, false), (0, false)],
            vec![(0, false), (0, true)],
            vec![(0, true); 8],
            vec![],
        ];
        agrees_with_naive::<G1>(&[point], &groups);
    }

    #[test]
    fn no_groups_give_no_sums() {
        assert!(sum_groups::<blst::blst_fp>(&[], &[], &[]).is_empty());
    }
}
