//! What workers tell the coordinator.
//!
//! Events are hints: the durable effect (start mark, shipped mark, result) is written before its event, so a lost
//! event is found again by whoever reads the unit's marks.

use serde::{Deserialize, Serialize};

use super::{Digest, Incarnation, TaskFailure, TaskKey, WorkerId};
use crate::telemetry::TimelineRecord;

/// What happened to an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum WorkerEvent {
    /// The start was accepted; from here the attempt counts.
    Started,
    /// Synthesis is done and the first chunk is about to leave (CHAN_SEND).
    Sending {
        /// Shape of the assignment.
        shape: Digest,
    },
    /// The manifest was accepted (CHAN_SENT).
    Shipped {
        /// BLAKE3 digest of the manifest entry.
        manifest: Digest,
        /// Bytes in the broker.
        bytes: u64,
        /// Bytes of the same assignment at 32 bytes a scalar.
        raw_bytes: u64,
    },
    /// The result of a plan, a partition's proof or a finish was stored.
    Stored,
    /// The attempt failed.
    Failed(TaskFailure),
    /// The worker held the task, did not start it, and gives it back.
    Released,
}

/// An event with the attempt it is about and the timeline records that came with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventMessage {
    /// Who says so.
    pub worker: WorkerId,
    /// Which life of that worker.
    pub incarnation: Incarnation,
    /// The attempt.
    pub key: TaskKey,
    /// What happened.
    pub event: WorkerEvent,
    /// Timeline records up to this event that no earlier event carried.
    #[serde(default)]
    pub timeline: Vec<TimelineRecord>,
}
