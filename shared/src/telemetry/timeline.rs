//! What happened when: the events of a job's life.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::protocol::{JobId, Unit, UnixMicros, WorkerId};

/// An instant in the life of a job. The pair around the channel send brackets it, so that synthesis time, send time and
/// waiting time cannot be confused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TimelineEvent {
    /// The job was accepted.
    JobSubmit,
    /// A synthesis task (also plan and finish, by unit) was assigned to a worker.
    SynthAssign,
    /// The worker started it.
    SynthStart,
    /// The witness is complete and checked.
    SynthEnd,
    /// Ready, just before the first chunk.
    ChanSend,
    /// The manifest was accepted.
    ChanSent,
    /// A proving task was assigned to a device.
    GpuAssign,
    /// The GPU worker took it up and begins to fetch.
    GpuPickup,
    /// The assignment is fetched, decoded and checked.
    FetchEnd,
    /// The device starts on it.
    GpuStart,
    /// The device is done with it.
    GpuEnd,
    /// The proof verified.
    ProofVerified,
    /// The job reached a terminal state.
    JobDone,
}

/// One event of one job's timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineRecord {
    /// What happened.
    pub event: TimelineEvent,
    /// When, on the cluster's clock.
    pub at: UnixMicros,
    /// To which job.
    pub job: JobId,
    /// To which unit of it; absent for the job as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// In which attempt, 1, 2, …; 0 for the job as a whole.
    #[serde(default)]
    pub attempt: u32,
    /// On which worker; absent for the coordinator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// Further facts such as `bytes`, `device`, `state`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
}
