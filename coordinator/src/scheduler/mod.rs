//! Who gets what next, as pure data: ready units in order, workers with free credits, and what is in flight.
//!
//! *Layout*: `rank` (the order of ready units), `queue` (ready units, lane by lane), `fleet` (workers and their
//! credits), `flow` (how far synthesis may run ahead of the devices), `pick` (the choice itself).
//!
//! **Invariant**: a stage of a unit is in the queue, or holds one credit of one worker, or neither.
//! **Invariant**: synthesis of a partition begins only while the devices can take it; plans and finishes always may.

mod fleet;
mod flow;
mod pick;
mod queue;
mod rank;
#[cfg(test)]
mod tests;

use proofmill_shared::protocol::{
    CircuitId, Digest, JobId, Role, Stage, Unit, UnixMicros, WorkerId, WorkerRecord,
};
use std::sync::Arc;
use std::time::Duration;

use fleet::Fleet;
pub use fleet::Hold;
use flow::Flow;
pub use flow::FlowLimits;
use queue::ReadyQueue;
pub use rank::Urgency;

use crate::job::WorkerLife;

/// One stage of one unit of one job: what is queued, assigned and released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnitStage {
    /// The job.
    pub job: JobId,
    /// The unit.
    pub unit: Unit,
    /// The stage.
    pub stage: Stage,
}

impl UnitStage {
    /// The role of the workers that run it.
    #[must_use]
    pub const fn role(&self) -> Role {
        match self.stage {
            Stage::Synthesis => Role::Synth,
            Stage::Proving => Role::Gpu,
        }
    }
}

/// What the scheduler must know of a ready unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyUnit {
    /// What is ready.
    pub what: UnitStage,
    /// How urgent its job is.
    pub urgency: Urgency,
    /// The circuit program.
    pub circuit: CircuitId,
    /// Shape of the job's partitions; `None` before the plan.
    pub shape: Option<Digest>,
    /// The worker that should not get it while another could.
    pub avoid: Option<WorkerId>,
    /// Not before this instant.
    pub not_before: UnixMicros,
}

/// A unit found its worker; the credit is booked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// What is assigned.
    pub what: UnitStage,
    /// To whom.
    pub to: WorkerLife,
}

/// Ready units, workers and what is in flight.
#[derive(Debug)]
pub struct Scheduler {
    queue: ReadyQueue,
    fleet: Fleet,
    flow: Flow,
    /// Picks made so far, for the starvation guard.
    picks: u64,
}

impl Scheduler {
    /// A scheduler that knows no worker and no unit.
    #[must_use]
    pub fn new(limits: FlowLimits) -> Self {
        Self {
            queue: ReadyQueue::default(),
            fleet: Fleet::default(),
            flow: Flow::new(limits),
            picks: 0,
        }
    }

    /// Queues a unit; one that is queued already is queued anew.
    pub fn enqueue(&mut self, ready: ReadyUnit, now: UnixMicros) {
        if let (Stage::Proving, Unit::Partition(partition)) = (ready.what.stage, ready.what.unit) {
            self.flow.waits_for_device(ready.what.job, partition);
        }
        self.queue.insert(ready, now);
    }

    /// Takes a unit out of the queue, if it is there.
    pub fn dequeue(&mut self, what: &UnitStage) {
        self.queue.remove(what);
    }

    /// Books a credit for an attempt that a worker has already (a job that was read back).
    pub fn hold(
        &mut self,
        what: UnitStage,
        by: WorkerLife,
        shape: Option<Digest>,
        now: UnixMicros,
    ) {
        self.book(what, by, shape, now);
    }

    /// Gives a credit back; answers who had it.
    pub fn release(&mut self, what: &UnitStage) -> Option<Hold> {
        self.fleet.release(what)
    }

    /// Gives back the credit of an assignment that its job has no use for, and what was set aside for it.
    pub fn refuse(&mut self, what: &UnitStage) {
        self.fleet.release(what);
        if let (Stage::Synthesis, Unit::Partition(partition)) = (what.stage, what.unit) {
            self.flow.gone(what.job, partition);
        }
    }

    /// Learns of a worker, or what it says of itself now.
    pub fn worker_seen(&mut self, record: Arc<WorkerRecord>) {
        self.fleet.seen(record);
    }

    /// Forgets a worker; its credits stay booked until they are released.
    pub fn worker_gone(&mut self, worker: &WorkerId) {
        self.fleet.gone(worker);
    }

    /// Says how large an assignment of a shape can be, before any was seen.
    pub fn shape_known(&mut self, shape: Digest, worst_case_bytes: u64) {
        self.flow.shape_known(shape, worst_case_bytes);
    }

    /// A partition's assignment is complete in the broker.
    pub fn shipped(
        &mut self,
        job: JobId,
        partition: u32,
        shape: Option<Digest>,
        bytes: Option<u64>,
        took: Option<Duration>,
    ) {
        self.flow.shipped(job, partition, shape, bytes, took);
    }

    /// A device started on a partition.
    pub fn proving_began(&mut self, job: JobId, partition: u32) {
        self.flow.proving_began(job, partition);
    }

    /// A partition's proof is stored; says who had it, and how long since it started.
    pub fn proved(
        &mut self,
        shape: Option<Digest>,
        by: Option<(&WorkerId, Duration)>,
        now: UnixMicros,
    ) {
        if let (Some(shape), Some((worker, took))) = (shape, by) {
            let took = self.fleet.proof_interval(worker, took, now);
            self.flow.proved(shape, took);
        }
    }

    /// A partition's assignment is gone from the broker, or will never get there.
    pub fn payload_gone(&mut self, job: JobId, partition: u32) {
        self.flow.gone(job, partition);
    }

    /// The next assignment, if there is a unit and a worker for it; its credit is booked.
    pub fn next_assignment(&mut self, now: UnixMicros) -> Option<Assignment> {
        self.queue.wake(now);
        let (what, worker) = self.pick()?;
        let ready = self.queue.remove(&what)?;
        self.picks += 1;
        self.book(what, worker.clone(), ready.shape, now);
        Some(Assignment { what, to: worker })
    }

    /// The earliest instant at which a unit that waits out its backoff becomes ready.
    #[must_use]
    pub fn next_wake(&self) -> Option<UnixMicros> {
        self.queue.next_wake()
    }

    /// Workers that are known, by name.
    pub fn workers(&self) -> impl Iterator<Item = &Arc<WorkerRecord>> {
        self.fleet.workers()
    }

    /// What a worker has credits booked for.
    pub fn held_by(&self, worker: &WorkerId) -> impl Iterator<Item = (&UnitStage, &Hold)> {
        self.fleet.held_by(worker)
    }

    /// Everyone who has a credit booked, known or not, in some life.
    #[must_use]
    pub fn holders(&self) -> Vec<WorkerLife> {
        self.fleet.holders()
    }

    /// Units queued, of all stages.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Credits booked.
    #[must_use]
    pub fn credits_out(&self) -> usize {
        self.fleet.credits_out()
    }

    /// Assignments in synthesis or in the broker.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.flow.in_flight()
    }

    /// Forgets everything of a job: rare, so it looks through everything.
    pub fn forget(&mut self, job: JobId) {
        for what in self.queue.units_of(job) {
            self.queue.remove(&what);
        }
        for what in self.fleet.held_of(job) {
            self.fleet.release(&what);
        }
        self.flow.forget(job);
    }

    fn book(&mut self, what: UnitStage, to: WorkerLife, shape: Option<Digest>, now: UnixMicros) {
        if let (Stage::Synthesis, Unit::Partition(partition)) = (what.stage, what.unit) {
            self.flow.reserve(what.job, partition, shape);
        }
        self.fleet.book(what, to, now);
    }
}
