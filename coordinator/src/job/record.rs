//! What the broker keeps of a job: a header, and one record a unit, so that a commit writes only what changed.

use bytes::Bytes;
use proofmill_shared::protocol::{
    CircuitId, FencingToken, Incarnation, JobId, Plan, Stage, TaskFailure, Unit, UnixMicros,
    WorkerId,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::view::{Expectation, JobState, Priority};

/// A stored record that does not read or write.
#[derive(Debug, thiserror::Error)]
#[error("{what} does not read: it was written by another version, or damaged")]
pub struct RecordError {
    /// Which record.
    pub what: &'static str,
    /// What the parser said.
    #[source]
    pub source: serde_json::Error,
}

/// The header of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Id.
    pub id: JobId,
    /// The circuit program.
    pub circuit: CircuitId,
    /// Priority.
    pub priority: Priority,
    /// Where it stands.
    pub state: JobState,
    /// When it was accepted.
    pub submitted_at: UnixMicros,
    /// Latest instant at which the result is of use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<UnixMicros>,
    /// What the result must show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expectation>,
    /// Size of the input in bytes.
    pub input_bytes: u64,
    /// Digest of what an idempotency key binds: circuit, input, expectation.
    pub request: String,
    /// Span id of the job's root span, 16 hex digits.
    pub root_span: String,
    /// The client's W3C trace context, for a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// The ended job this one retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<JobId>,
    /// What planning the input gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// When it was planned: its partitions wait from here.
    #[serde(default)]
    pub planned_at: UnixMicros,
    /// When its last partition was proved: its finish waits from here.
    #[serde(default)]
    pub proved_at: UnixMicros,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<UnixMicros>,
    /// Why it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<TaskFailure>,
}

/// One unit: the plan, a partition, or the finish. Only partitions have a proving stage and a payload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UnitRecord {
    /// The token granted last; the next attempt of either stage takes the next one.
    pub token: FencingToken,
    /// Synthesis (of a plan or finish: the circuit code that runs there).
    pub synth: StageRecord,
    /// Proving.
    #[serde(default, skip_serializing_if = "StageRecord::is_untouched")]
    pub prove: StageRecord,
    /// The shipped assignment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadRecord>,
    /// True once its result is stored.
    #[serde(default)]
    pub is_done: bool,
}

/// One stage of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StageRecord {
    /// The attempt that a worker has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<AttemptRecord>,
    /// When it became, or becomes, ready to be assigned; absent while it is not to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_at: Option<UnixMicros>,
    /// Attempts granted so far.
    #[serde(default)]
    pub attempts: u32,
    /// Attempts that started and came to nothing.
    #[serde(default)]
    pub failed: u32,
    /// Attempts lost before they started, or given back.
    #[serde(default)]
    pub lost: u32,
    /// Why the last of them came to nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<TaskFailure>,
    /// The worker that had the last of them: the next attempt goes elsewhere if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_worker: Option<WorkerId>,
}

impl StageRecord {
    fn is_untouched(&self) -> bool {
        *self == Self::default()
    }
}

/// An attempt that a worker has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// 1, 2, … within the stage of the unit.
    pub number: u32,
    /// Its token.
    pub token: FencingToken,
    /// The worker.
    pub worker: WorkerId,
    /// Which life of the worker.
    pub incarnation: Incarnation,
    /// Since when the stage was ready for it.
    pub ready_at: UnixMicros,
    /// When it was assigned.
    pub assigned_at: UnixMicros,
    /// When it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<UnixMicros>,
    /// Synthesis: when its first chunk was about to leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sending_at: Option<UnixMicros>,
    /// Proving: the synthesis attempt whose payload it proves; 0 otherwise.
    #[serde(default)]
    pub payload_attempt: u32,
}

/// A shipped assignment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadRecord {
    /// The synthesis attempt that shipped it.
    pub attempt: u32,
    /// The worker that had that attempt.
    pub worker: WorkerId,
    /// When its manifest was accepted.
    pub shipped_at: UnixMicros,
    /// Bytes in the broker; absent if only the mark told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A job given up: what an operator needs in order to judge it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The job.
    pub job: JobId,
    /// The trace of everything done for it.
    pub trace_id: String,
    /// The circuit program.
    pub circuit: CircuitId,
    /// The unit whose attempts ran out.
    pub unit: Unit,
    /// In which stage.
    pub stage: Stage,
    /// Why the last attempt came to nothing.
    pub cause: TaskFailure,
    /// Attempts granted in that stage.
    pub attempts: u32,
    /// The worker that had the last one.
    pub last_worker: Option<WorkerId>,
    /// When it was given up.
    pub at: UnixMicros,
}

macro_rules! json_record {
    ($($record:ty => $what:literal),*) => {$(
        impl $record {
            /// Writes the record as JSON.
            ///
            /// # Errors
            /// [`RecordError`] if it cannot be written.
            pub fn encode(&self) -> Result<Bytes, RecordError> {
                encode(self, $what)
            }

            /// Reads the record.
            ///
            /// # Errors
            /// [`RecordError`] if it does not read.
            pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
                decode(bytes, $what)
            }
        }
    )*};
}

json_record!(JobRecord => "job record", UnitRecord => "unit record", DeadLetter => "dead letter");

fn encode<T: Serialize>(record: &T, what: &'static str) -> Result<Bytes, RecordError> {
    serde_json::to_vec(record)
        .map(Into::into)
        .map_err(|source| RecordError { what, source })
}

fn decode<T: DeserializeOwned>(bytes: &[u8], what: &'static str) -> Result<T, RecordError> {
    serde_json::from_slice(bytes).map_err(|source| RecordError { what, source })
}
