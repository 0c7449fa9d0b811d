//! Workers and their credits: a worker may hold what it runs plus its prefetch.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use proofmill_shared::protocol::{
    CircuitId, Digest, Incarnation, JobId, Role, UnixMicros, WorkerId, WorkerRecord,
};

use super::{ReadyUnit, UnitStage};
use crate::job::WorkerLife;

/// A credit that is booked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The worker.
    pub worker: WorkerId,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// Since when.
    pub since: UnixMicros,
}

/// Known workers, and every booked credit.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    workers: BTreeMap<WorkerId, Arc<WorkerRecord>>,
    holds: HashMap<UnitStage, Hold>,
    held: HashMap<WorkerId, BTreeSet<UnitStage>>,
    last_proof: HashMap<WorkerId, UnixMicros>,
}

impl Fleet {
    pub(super) fn seen(&mut self, record: Arc<WorkerRecord>) {
        self.workers.insert(record.id.clone(), record);
    }

    pub(super) fn gone(&mut self, worker: &WorkerId) {
        self.workers.remove(worker);
        self.last_proof.remove(worker);
    }

    pub(super) fn workers(&self) -> impl Iterator<Item = &Arc<WorkerRecord>> {
        self.workers.values()
    }

    pub(super) fn book(&mut self, what: UnitStage, to: WorkerLife, now: UnixMicros) {
        self.release(&what);
        self.held.entry(to.worker.clone()).or_default().insert(what);
        let hold = Hold {
            worker: to.worker,
            incarnation: to.incarnation,
            since: now,
        };
        self.holds.insert(what, hold);
    }

    pub(super) fn release(&mut self, what: &UnitStage) -> Option<Hold> {
        let hold = self.holds.remove(what)?;
        if let Some(held) = self.held.get_mut(&hold.worker) {
            held.remove(what);
            if held.is_empty() {
                self.held.remove(&hold.worker);
            }
        }
        Some(hold)
    }

    pub(super) fn held_by(&self, worker: &WorkerId) -> impl Iterator<Item = (&UnitStage, &Hold)> {
        let held = self.held.get(worker).into_iter().flatten();
        held.filter_map(|what| Some((what, self.holds.get(what)?)))
    }

    pub(super) fn held_of(&self, job: JobId) -> Vec<UnitStage> {
        let of_job = |what: &&UnitStage| what.job == job;
        self.holds.keys().filter(of_job).copied().collect()
    }

    pub(super) fn holders(&self) -> Vec<WorkerLife> {
        let lives: BTreeSet<WorkerLife> = self
            .holds
            .values()
            .map(|hold| WorkerLife {
                worker: hold.worker.clone(),
                incarnation: hold.incarnation,
            })
            .collect();
        lives.into_iter().collect()
    }

    pub(super) fn credits_out(&self) -> usize {
        self.holds.len()
    }

    /// Devices that take work.
    pub(super) fn devices(&self) -> usize {
        let takes = |record: &&Arc<WorkerRecord>| record.role == Role::Gpu && !record.is_draining;
        self.workers.values().filter(takes).count()
    }

    /// True if any worker of a role has a free credit.
    pub(super) fn has_room(&self, role: Role) -> bool {
        self.workers
            .values()
            .any(|record| record.role == role && self.room(record) > 0)
    }

    /// The worker that should get a unit: one with an idle slot before one that would only prefetch it, one that is
    /// warm before one that is cold, then the least loaded.
    ///
    /// The worker that a unit is to avoid gets it only if no other could ever take it.
    pub(super) fn choose(&self, ready: &ReadyUnit) -> Option<WorkerLife> {
        let role = ready.what.role();
        let able = || {
            self.workers
                .values()
                .filter(|record| is_able(record, role, &ready.circuit))
        };
        let avoid = ready.avoid.as_ref();
        let has_other = avoid.is_some_and(|avoid| able().any(|record| record.id != *avoid));
        able()
            .filter(|record| !has_other || avoid != Some(&record.id))
            .filter(|record| self.room(record) > 0)
            .min_by_key(|record| self.preference(record, ready.shape.as_ref()))
            .map(|record| WorkerLife {
                worker: record.id.clone(),
                incarnation: record.incarnation,
            })
    }

    /// Time that one proof takes a worker's device: from the start or from the proof before it, whichever is later,
    /// because a prefetched proof waits behind another.
    pub(super) fn proof_interval(
        &mut self,
        worker: &WorkerId,
        since_start: Duration,
        now: UnixMicros,
    ) -> Duration {
        match self.last_proof.insert(worker.clone(), now) {
            Some(last) => since_start.min(now.since(last)),
            None => since_start,
        }
    }

    fn preference(&self, record: &WorkerRecord, shape: Option<&Digest>) -> impl Ord + use<> {
        let assigned = self.assigned(record);
        let has_idle_slot = assigned < record.slots as usize;
        let is_warm = shape.is_some_and(|shape| record.warm.contains(shape));
        // Load in thousandths of its slots, so that a large worker counts as emptier than a small one.
        let load = assigned * 1_000 / (record.slots.max(1) as usize);
        (Reverse(has_idle_slot), Reverse(is_warm), load, assigned)
    }

    fn assigned(&self, record: &WorkerRecord) -> usize {
        self.held.get(&record.id).map_or(0, BTreeSet::len)
    }

    fn room(&self, record: &WorkerRecord) -> usize {
        if record.is_draining {
            return 0;
        }
        let capacity = record.slots.saturating_add(record.prefetch) as usize;
        capacity.saturating_sub(self.assigned(record))
    }
}

/// True if a worker could take a unit of a circuit, had it room.
fn is_able(record: &WorkerRecord, role: Role, circuit: &CircuitId) -> bool {
    record.role == role
        && !record.is_draining
        && (role == Role::Gpu || record.circuits.contains(circuit))
}
