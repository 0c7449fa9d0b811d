//! What is to be done after a transition is durable.

use std::collections::BTreeSet;
use std::time::Duration;

use proofmill_shared::broker::PayloadKey;
use proofmill_shared::protocol::{Stage, Task, TaskKey, Unit, UnixMicros, WorkerId};
use proofmill_shared::telemetry::TimelineRecord;

use super::model::Job;
use super::record::DeadLetter;

/// One thing to do, in the order given.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Queue a unit for a stage.
    Enqueue {
        /// The unit.
        unit: Unit,
        /// The stage.
        stage: Stage,
        /// Not before this instant.
        not_before: UnixMicros,
        /// The worker that should not get it if another can.
        avoid: Option<WorkerId>,
    },
    /// Take a unit out of the queue of a stage.
    Dequeue {
        /// The unit.
        unit: Unit,
        /// The stage.
        stage: Stage,
    },
    /// Give back the credit that a unit's stage has with its worker.
    Release {
        /// The unit.
        unit: Unit,
        /// The stage.
        stage: Stage,
    },
    /// Give back the credit of an assignment that the job has no use for (any more).
    Refuse {
        /// The unit.
        unit: Unit,
        /// The stage.
        stage: Stage,
    },
    /// Put a task into a worker's inbox.
    Post {
        /// The worker.
        worker: WorkerId,
        /// The task.
        task: Task,
    },
    /// Tell a worker to give up an attempt whose token no longer stands.
    TakeBack {
        /// The worker.
        worker: WorkerId,
        /// The attempt.
        key: TaskKey,
    },
    /// Tell a worker to stop everything for the job.
    CancelOn {
        /// The worker.
        worker: WorkerId,
    },
    /// A partition's assignment is complete in the broker.
    PayloadShipped {
        /// Index of the partition.
        partition: u32,
        /// Bytes there, if known.
        bytes: Option<u64>,
        /// Time from start to here, if the start was heard of.
        took: Option<Duration>,
    },
    /// A GPU worker started on a partition: it no longer waits for a device.
    ProvingBegan {
        /// Index of the partition.
        partition: u32,
    },
    /// A partition's proof is stored.
    ProofStored {
        /// Index of the partition.
        partition: u32,
        /// The worker that had it, and the time since it started.
        by: Option<(WorkerId, Duration)>,
    },
    /// Remove an assignment from the broker.
    DropPayload {
        /// Which.
        payload: PayloadKey,
    },
    /// File a dead letter: before the job's end is durable, so that none is missed.
    PutDeadLetter(DeadLetter),
    /// Append to the job's timeline.
    Record(TimelineRecord),
    /// An attempt started, and its wait is over (for a span).
    Waited {
        /// The attempt.
        key: TaskKey,
        /// Who has it.
        worker: WorkerId,
        /// Since when it waited: from ready (synthesis), or from a complete payload (proving).
        from: UnixMicros,
        /// When it was assigned.
        assigned_at: UnixMicros,
        /// When it started.
        to: UnixMicros,
    },
    /// Tell whoever watches that the job changed.
    Announce,
}

/// What a transition gave.
#[derive(Debug)]
pub struct Transition {
    /// The job after it.
    pub job: Job,
    /// Units whose records changed.
    pub changed: BTreeSet<Unit>,
    /// True if anything changed: there is something to commit.
    pub is_changed: bool,
    /// What to do, in order.
    pub actions: Vec<Action>,
}
