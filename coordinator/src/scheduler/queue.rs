//! Ready units, lane by lane, each lane in two orders; and units that wait out a backoff.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proofmill_shared::protocol::{CircuitId, Digest, JobId, Stage, Unit, UnixMicros};

use super::rank::{Age, Rank};
use super::{ReadyUnit, UnitStage};

/// Units that any worker of the lane's kind can take equally well.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum LaneKey {
    /// Plans of a circuit.
    Plan(CircuitId),
    /// Syntheses of a circuit's partitions.
    Partition(CircuitId),
    /// Finishes of a circuit.
    Finish(CircuitId),
    /// Provings of a shape; `None` cannot be (a partition has a plan), and is a lane like any other.
    Proving(Option<Digest>),
}

impl LaneKey {
    fn of(ready: &ReadyUnit) -> Self {
        match (ready.what.stage, ready.what.unit) {
            (Stage::Proving, _) => Self::Proving(ready.shape),
            (Stage::Synthesis, Unit::Plan) => Self::Plan(ready.circuit.clone()),
            (Stage::Synthesis, Unit::Partition(_)) => Self::Partition(ready.circuit.clone()),
            (Stage::Synthesis, Unit::Finish) => Self::Finish(ready.circuit.clone()),
        }
    }
}

/// One lane, in the order of rank and in the order of age.
#[derive(Debug, Default)]
pub(super) struct Lane {
    by_rank: BTreeMap<Rank, UnitStage>,
    by_age: BTreeMap<Age, UnitStage>,
}

impl Lane {
    pub(super) fn by_rank(&self) -> impl Iterator<Item = (Rank, &UnitStage)> {
        self.by_rank.iter().map(|(rank, what)| (*rank, what))
    }

    pub(super) fn by_age(&self) -> impl Iterator<Item = (Age, &UnitStage)> {
        self.by_age.iter().map(|(age, what)| (*age, what))
    }
}

/// Everything that is queued. Every operation takes logarithmic time.
#[derive(Debug, Default)]
pub(super) struct ReadyQueue {
    units: HashMap<UnitStage, ReadyUnit>,
    lanes: HashMap<LaneKey, Lane>,
    delayed: BTreeSet<(UnixMicros, UnitStage)>,
    partitions: usize,
}

impl ReadyQueue {
    pub(super) fn insert(&mut self, ready: ReadyUnit, now: UnixMicros) {
        self.remove(&ready.what);
        if ready.not_before > now {
            self.delayed.insert((ready.not_before, ready.what));
        } else {
            self.line_up(&ready);
        }
        self.units.insert(ready.what, ready);
    }

    pub(super) fn remove(&mut self, what: &UnitStage) -> Option<ReadyUnit> {
        let ready = self.units.remove(what)?;
        if !self.delayed.remove(&(ready.not_before, *what)) {
            self.leave_line(&ready);
        }
        Some(ready)
    }

    /// Lines up every unit whose backoff is over.
    pub(super) fn wake(&mut self, now: UnixMicros) {
        while let Some((at, what)) = self.delayed.first().copied() {
            if at > now {
                return;
            }
            self.delayed.pop_first();
            if let Some(ready) = self.units.get(&what).cloned() {
                self.line_up(&ready);
            }
        }
    }

    pub(super) fn next_wake(&self) -> Option<UnixMicros> {
        self.delayed.first().map(|(at, _)| *at)
    }

    pub(super) fn get(&self, what: &UnitStage) -> Option<&ReadyUnit> {
        self.units.get(what)
    }

    pub(super) fn units_of(&self, job: JobId) -> Vec<UnitStage> {
        let of_job = |what: &&UnitStage| what.job == job;
        self.units.keys().filter(of_job).copied().collect()
    }

    pub(super) fn lanes(&self) -> impl Iterator<Item = (&LaneKey, &Lane)> {
        self.lanes.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    /// Partitions lined up for synthesis.
    pub(super) const fn partitions(&self) -> usize {
        self.partitions
    }

    fn line_up(&mut self, ready: &ReadyUnit) {
        let rank = Rank::new(&ready.urgency, &ready.what);
        let key = LaneKey::of(ready);
        self.partitions += usize::from(matches!(key, LaneKey::Partition(_)));
        let lane = self.lanes.entry(key).or_default();
        lane.by_rank.insert(rank, ready.what);
        lane.by_age.insert(rank.age(), ready.what);
    }

    fn leave_line(&mut self, ready: &ReadyUnit) {
        let rank = Rank::new(&ready.urgency, &ready.what);
        let key = LaneKey::of(ready);
        let Some(lane) = self.lanes.get_mut(&key) else {
            return;
        };
        lane.by_age.remove(&rank.age());
        if lane.by_rank.remove(&rank).is_some() && matches!(key, LaneKey::Partition(_)) {
            self.partitions -= 1;
        }
        if lane.by_rank.is_empty() {
            self.lanes.remove(&key);
        }
    }
}
