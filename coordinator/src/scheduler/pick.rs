//! The choice: which unit goes to which worker next.

use proofmill_shared::protocol::Role;

use super::queue::{Lane, LaneKey};
use super::rank::{Age, Rank};
use super::{Scheduler, UnitStage};
use crate::job::WorkerLife;

/// One pick in so many goes to the oldest unit, whatever its priority: nothing waits for ever behind a stream of more
/// urgent work, which keeps seven eighths of the workers.
pub(super) const STARVATION_GUARD: u64 = 8;

/// Units looked at in a lane before it is taken for stuck: each of them avoids the only worker with room.
const LOOK_PAST: usize = 32;

/// Partitions lined up for synthesis beyond which planning further jobs no longer goes first: the devices have enough
/// to come, and plans only add to it.
pub(super) const PLANNED_AHEAD: usize = 64;

/// A unit with the worker that would get it.
#[derive(Debug, Clone)]
struct Candidate {
    what: UnitStage,
    to: WorkerLife,
    rank: Rank,
    age: Age,
    class: Class,
}

/// In which order kinds of units go when all are ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// The last step of a job that has cost everything else already.
    Finish,
    /// Cheap, and tells whether the input is at fault.
    Plan,
    /// The work itself.
    Work,
}

impl Scheduler {
    pub(super) fn pick(&self) -> Option<(UnitStage, WorkerLife)> {
        self.pick_for(Role::Gpu)
            .or_else(|| self.pick_for(Role::Synth))
            .map(|picked| (picked.what, picked.to))
    }

    fn pick_for(&self, role: Role) -> Option<Candidate> {
        if !self.fleet.has_room(role) {
            return None;
        }
        let is_guarded = (self.picks + 1).is_multiple_of(STARVATION_GUARD);
        let plans_first = self.queue.partitions() < PLANNED_AHEAD;
        let lanes = self.queue.lanes().filter(|(key, _)| key.role() == role);
        let candidates = lanes.filter_map(|(key, lane)| self.candidate(key, lane, is_guarded));
        if is_guarded {
            return candidates.min_by_key(|candidate| candidate.age);
        }
        candidates.min_by_key(|candidate| {
            let class = match candidate.class {
                Class::Plan if !plans_first => Class::Work,
                class => class,
            };
            (class, candidate.rank)
        })
    }

    /// The first unit of a lane that may go and has a worker.
    fn candidate(&self, key: &LaneKey, lane: &Lane, by_age: bool) -> Option<Candidate> {
        if by_age {
            lane.by_age()
                .take(LOOK_PAST)
                .find_map(|(_, what)| self.match_up(key, *what))
        } else {
            lane.by_rank()
                .take(LOOK_PAST)
                .find_map(|(_, what)| self.match_up(key, *what))
        }
    }

    fn match_up(&self, key: &LaneKey, what: UnitStage) -> Option<Candidate> {
        let ready = self.queue.get(&what)?;
        let is_partition = matches!(key, LaneKey::Partition(_));
        if is_partition && !self.flow.admits(ready.shape, self.fleet.devices()) {
            return None;
        }
        let rank = Rank::new(&ready.urgency, &what);
        Some(Candidate {
            what,
            to: self.fleet.choose(ready)?,
            rank,
            age: rank.age(),
            class: key.class(),
        })
    }
}

impl LaneKey {
    const fn role(&self) -> Role {
        match self {
            Self::Proving(_) => Role::Gpu,
            Self::Plan(_) | Self::Partition(_) | Self::Finish(_) => Role::Synth,
        }
    }

    const fn class(&self) -> Class {
        match self {
            Self::Finish(_) => Class::Finish,
            Self::Plan(_) => Class::Plan,
            Self::Partition(_) | Self::Proving(_) => Class::Work,
        }
    }
}
