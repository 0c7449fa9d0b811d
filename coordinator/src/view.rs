//! Jobs, proofs and reports as the API shows them and the `proofmill` command reads them.

use proofmill_shared::protocol::{
    CircuitId, JobId, PartitionProof, TaskFailure, UnixMicros, WorkerId, WorkerRecord,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a job stands. The last five never change again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Stored, waiting for a worker to check and split its input.
    Accepted,
    /// Its input is being checked and split.
    Planning,
    /// Its partitions are being synthesized and proved.
    Running,
    /// Its proofs are being joined.
    Finishing,
    /// Every proof verified and the circuit's own check passed.
    Succeeded,
    /// Attempts ran out.
    Failed,
    /// The input is at fault.
    Rejected,
    /// Cancelled by a client.
    Cancelled,
    /// Its deadline passed.
    Expired,
}

impl JobState {
    /// True for a state that is never left.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed | Self::Rejected | Self::Cancelled | Self::Expired
        )
    }
}

/// Where a partition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartitionState {
    /// Waits for a synth worker.
    Waiting,
    /// A synth worker has it.
    Synthesizing,
    /// Its assignment is in the broker.
    Shipped,
    /// A GPU worker proves it.
    Proving,
    /// Its verified proof is stored.
    Proved,
}

/// How much a job matters: higher ones go first.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Deserialize,
    ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Last.
    Low,
    /// The default.
    #[default]
    Normal,
    /// Before normal.
    High,
    /// Before everything.
    Critical,
}

/// What a client asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRequest {
    /// The circuit program.
    pub circuit: CircuitId,
    /// Its input, as the circuit wants it: JSON text or raw bytes.
    pub input: bytes::Bytes,
    /// Priority.
    pub priority: Priority,
    /// Latest instant at which the result is of use.
    pub deadline: Option<UnixMicros>,
    /// What the client says the result must show; enforced by the coordinator.
    pub expect: Option<Expectation>,
    /// Same key and same request: same job.
    pub idempotency_key: Option<String>,
    /// The client's W3C trace context, for a link on the job's root span.
    pub traceparent: Option<String>,
    /// The ended job this one retries.
    pub retry_of: Option<JobId>,
}

/// Public inputs or output that a client states in advance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Per partition, the public inputs as 64 hex digits each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_inputs: Option<Vec<Vec<String>>>,
    /// The job's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<serde_json::Value>,
}

/// A job as clients see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    /// Id; also the trace id, without its hyphens.
    #[schema(value_type = String)]
    pub id: JobId,
    /// The trace of everything done for the job.
    pub trace_id: String,
    /// The circuit program.
    #[schema(value_type = String)]
    pub circuit: CircuitId,
    /// Where it stands.
    pub state: JobState,
    /// Priority.
    pub priority: Priority,
    /// When it was accepted, microseconds since the Unix epoch.
    #[schema(value_type = u64)]
    pub submitted_at: UnixMicros,
    /// When it ended.
    #[schema(value_type = Option<u64>)]
    pub ended_at: Option<UnixMicros>,
    /// Latest instant at which the result is of use.
    #[schema(value_type = Option<u64>)]
    pub deadline: Option<UnixMicros>,
    /// One line about the input, from the plan.
    pub summary: Option<String>,
    /// Its partitions; empty until planned.
    pub partitions: Vec<PartitionView>,
    /// Why it did not succeed.
    #[schema(value_type = Option<Object>)]
    pub failure: Option<TaskFailure>,
    /// The ended job this one retries.
    #[schema(value_type = Option<String>)]
    pub retry_of: Option<JobId>,
}

/// A partition as clients see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PartitionView {
    /// Index from 0.
    pub index: u32,
    /// Where it stands.
    pub state: PartitionState,
    /// Synthesis attempts so far.
    pub synth_attempts: u32,
    /// Proving attempts so far.
    pub prove_attempts: u32,
    /// The worker that has it.
    #[schema(value_type = Option<String>)]
    pub worker: Option<WorkerId>,
}

/// A finished job's proofs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobProof {
    /// One proof a partition, in order.
    #[schema(value_type = Vec<Object>)]
    pub partitions: Vec<PartitionProof>,
    /// What the circuit program makes of them.
    pub output: serde_json::Value,
}

/// A worker as clients see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkerView {
    /// What it says of itself.
    #[schema(value_type = Object)]
    pub record: WorkerRecord,
    /// Tasks assigned to it and not ended.
    pub assigned: u32,
}
