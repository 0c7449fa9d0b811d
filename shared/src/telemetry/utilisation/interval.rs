//! Stretches of time, and sets of them that do not overlap.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::protocol::UnixMicros;

/// From `start` up to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Interval {
    /// Its start.
    pub start: UnixMicros,
    /// Its end; an interval whose end is not after its start is empty.
    pub end: UnixMicros,
}

impl Interval {
    /// Makes an interval.
    #[must_use]
    pub const fn new(start: UnixMicros, end: UnixMicros) -> Self {
        Self { start, end }
    }

    /// True if it holds no time.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.end <= self.start
    }

    /// How long it is.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.end.since(self.start)
    }

    /// What both cover.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        Self::new(self.start.max(other.start), self.end.min(other.end))
    }
}

/// Intervals in order of time that neither touch nor overlap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IntervalSet(Vec<Interval>);

impl FromIterator<Interval> for IntervalSet {
    /// The union.
    fn from_iter<I: IntoIterator<Item = Interval>>(intervals: I) -> Self {
        let mut sorted: Vec<Interval> = intervals
            .into_iter()
            .filter(|interval| !interval.is_empty())
            .collect();
        sorted.sort_unstable();
        let mut union: Vec<Interval> = Vec::with_capacity(sorted.len());
        for interval in sorted {
            match union.last_mut() {
                Some(last) if interval.start <= last.end => last.end = last.end.max(interval.end),
                _ => union.push(interval),
            }
        }
        Self(union)
    }
}

impl IntervalSet {
    /// The set of one interval.
    #[must_use]
    pub fn of(interval: Interval) -> Self {
        Self::from_iter([interval])
    }

    /// The intervals, in order of time.
    #[must_use]
    pub fn intervals(&self) -> &[Interval] {
        &self.0
    }

    /// True if it holds no time.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How long it is, all in all.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.0.iter().map(Interval::duration).sum()
    }

    /// What both cover.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        // The smaller set is walked and the larger one searched: a gap among ten thousand proofs stays cheap.
        let (few, many) = if self.0.len() <= other.0.len() {
            (self, other)
        } else {
            (other, self)
        };
        Self(
            few.0
                .iter()
                .flat_map(|interval| many.within(interval))
                .collect(),
        )
    }

    /// What this covers and the other does not.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let mut rest = Vec::new();
        for interval in &self.0 {
            let mut from = interval.start;
            for taken in other.within(interval) {
                if taken.start > from {
                    rest.push(Interval::new(from, taken.start));
                }
                from = taken.end;
            }
            if interval.end > from {
                rest.push(Interval::new(from, interval.end));
            }
        }
        Self(rest)
    }

    /// The parts of this set within an interval, found by bisection.
    fn within<'a>(&'a self, interval: &'a Interval) -> impl Iterator<Item = Interval> + 'a {
        let first = self.0.partition_point(|mine| mine.end <= interval.start);
        self.0[first..]
            .iter()
            .take_while(|mine| mine.start < interval.end)
            .map(|mine| mine.intersect(interval))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn interval(start: u64, end: u64) -> Interval {
        Interval::new(UnixMicros(start), UnixMicros(end))
    }

    fn set(pairs: &[(u64, u64)]) -> IntervalSet {
        pairs
            .iter()
            .map(|&(start, end)| interval(start, end))
            .collect()
    }

    #[test]
    fn a_union_joins_what_overlaps_or_touches() {
        assert_eq!(
            set(&[(5, 9), (1, 3), (3, 4), (6, 7), (8, 8)]),
            set(&[(1, 4), (5, 9)])
        );
        assert_eq!(set(&[(5, 9), (1, 3)]).duration(), Duration::from_micros(6));
    }

    #[test]
    fn what_is_taken_away_leaves_the_rest() {
        assert_eq!(
            set(&[(0, 10)]).minus(&set(&[(2, 3), (9, 20)])),
            set(&[(0, 2), (3, 9)])
        );
        assert_eq!(
            set(&[(0, 10)]).minus(&set(&[(0, 10)])),
            IntervalSet::default()
        );
    }

    fn any_set() -> impl Strategy<Value = IntervalSet> {
        prop::collection::vec((0u64..100, 0u64..30), 0..12).prop_map(|pairs| {
            pairs
                .iter()
                .map(|&(start, len)| interval(start, start + len))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn both_and_rest_make_up_the_whole(a in any_set(), b in any_set()) {
            let both = a.intersect(&b);
            let rest = a.minus(&b);
            prop_assert!(both.intersect(&rest).is_empty());
            let joined: IntervalSet = both.intervals().iter().chain(rest.intervals()).copied().collect();
            prop_assert_eq!(joined, a);
        }
    }
}
