//! What may happen to a job.

use proofmill_shared::protocol::{
    Digest, FencingToken, Incarnation, Plan, Stage, TaskFailure, TaskKey, Unit, UnixMicros,
    WorkerId,
};

/// One life of one worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerLife {
    /// The worker.
    pub worker: WorkerId,
    /// Which life of it.
    pub incarnation: Incarnation,
}

/// Something that happened to a job. One that no longer fits (another token, another life of the worker, a unit past it,
/// an ended job) changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEvent {
    /// The scheduler found a worker for a unit.
    Assigned {
        /// The unit.
        unit: Unit,
        /// The stage.
        stage: Stage,
        /// Who gets it.
        to: WorkerLife,
    },
    /// The worker that has an attempt says something about it.
    Reported {
        /// Who says so; `None` where the mark in the broker says it.
        by: Option<WorkerLife>,
        /// The attempt.
        key: TaskKey,
        /// What is said.
        report: Report,
    },
    /// The result of a unit is in the broker: written under a token that stood, so valid whoever says so.
    Stored {
        /// The unit.
        unit: Unit,
        /// Token of the attempt that says so; `None` where the mark in the broker says it.
        token: Option<FencingToken>,
        /// What was read there.
        result: StoredResult,
    },
    /// An attempt is lost.
    AttemptLost {
        /// The attempt.
        key: TaskKey,
        /// How.
        cause: LossCause,
    },
    /// A client wants it no more.
    Cancel,
    /// Its deadline has passed.
    DeadlinePassed,
}

/// What a worker says about an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// Its start was accepted.
    Started {
        /// When, as the worker's timeline has it; `None` for now.
        at: Option<UnixMicros>,
    },
    /// The first chunk of its assignment is about to leave.
    Sending {
        /// Shape of the assignment.
        shape: Digest,
    },
    /// Its assignment is in the broker.
    Shipped {
        /// Bytes there; `None` where only the mark tells of it.
        bytes: Option<u64>,
        /// When its manifest was accepted, as the worker's timeline has it; `None` for now.
        at: Option<UnixMicros>,
    },
    /// It failed.
    Failed(TaskFailure),
    /// It was not started and is given back.
    Released,
}

/// A unit's result as it was read from the broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredResult {
    /// What planning gave.
    Plan(Plan),
    /// A partition's proof is there.
    Proof,
    /// The job's output is there.
    Output {
        /// What about it or the public inputs differs from what the client stated; `None` if nothing does.
        mismatch: Option<String>,
    },
    /// It does not read.
    Unreadable {
        /// What is wrong with it.
        reason: String,
    },
}

/// How an attempt was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LossCause {
    /// The worker's heartbeat is gone.
    WorkerGone,
    /// The worker came back as a new process.
    WorkerRestarted,
    /// The worker lives and does not hold it.
    NotHeld,
    /// The worker holds it and makes no progress.
    NoProgress,
}

impl LossCause {
    /// Stable code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::WorkerGone => "worker-lost",
            Self::WorkerRestarted => "worker-restarted",
            Self::NotHeld => "attempt-not-held",
            Self::NoProgress => "no-progress",
        }
    }

    /// One sentence.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::WorkerGone => "heartbeat of the worker is gone: see its log and its host",
            Self::WorkerRestarted => {
                "worker came back as a new process: see the log of the old one"
            }
            Self::NotHeld => "worker does not hold the attempt any more",
            Self::NoProgress => "worker made no progress with the attempt",
        }
    }
}
