//! What the coordinator asks of workers.

use serde::{Deserialize, Serialize};

use super::{CircuitId, Digest, JobId, TaskKey};

/// One unit of work for one worker. Large data travels by reference: inputs and assignments stay in the broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Task {
    /// Check the input and split it (synth worker).
    Plan(PlanTask),
    /// Synthesize one partition and ship its assignment (synth worker).
    Synthesize(SynthTask),
    /// Join the proofs of all partitions (synth worker).
    Finish(FinishTask),
    /// Fetch an assignment, prove it, verify the proof (GPU worker).
    Prove(ProveTask),
}

impl Task {
    /// The key by which the task's effects are idempotent.
    #[must_use]
    pub const fn key(&self) -> &TaskKey {
        match self {
            Self::Plan(task) => &task.key,
            Self::Synthesize(task) => &task.key,
            Self::Finish(task) => &task.key,
            Self::Prove(task) => &task.key,
        }
    }

    /// The circuit program.
    #[must_use]
    pub const fn circuit(&self) -> &CircuitId {
        match self {
            Self::Plan(task) => &task.circuit,
            Self::Synthesize(task) => &task.circuit,
            Self::Finish(task) => &task.circuit,
            Self::Prove(task) => &task.circuit,
        }
    }
}

/// See [`Task::Plan`]. Its result is a [`Plan`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanTask {
    /// Identity of the attempt.
    pub key: TaskKey,
    /// The circuit program.
    pub circuit: CircuitId,
}

/// See [`Task::Synthesize`]. Its effect is a shipped assignment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SynthTask {
    /// Identity of the attempt.
    pub key: TaskKey,
    /// The circuit program.
    pub circuit: CircuitId,
    /// Index of the partition, from 0.
    pub partition: u32,
    /// True if a GPU worker is there that holds no matrices: A·w and B·w must travel too, unless the synth worker is
    /// configured otherwise.
    #[serde(default)]
    pub needs_evaluations: bool,
}

/// See [`Task::Finish`]. Its result is the job's output as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishTask {
    /// Identity of the attempt.
    pub key: TaskKey,
    /// The circuit program.
    pub circuit: CircuitId,
    /// How many partitions were proved; their proofs are in the broker.
    pub partition_count: u32,
}

/// See [`Task::Prove`]. Its result is a [`PartitionProof`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProveTask {
    /// Identity of the attempt.
    pub key: TaskKey,
    /// The circuit program, for reports: proving needs the shape only.
    pub circuit: CircuitId,
    /// Index of the partition, from 0.
    pub partition: u32,
    /// Shape of the circuit; names the proving key too.
    pub shape: Digest,
    /// The synthesis attempt whose payload is to be proved.
    pub payload_attempt: u32,
}

/// What planning an input gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Number of partitions, at least 1.
    pub partition_count: u32,
    /// Shape that every partition has.
    pub shape: Digest,
    /// One line about the input for people, without anything secret (such as its length).
    pub summary: String,
}

/// A verified proof of one partition with its public inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionProof {
    /// bellperson's encoding: A, B, C compressed, 192 bytes. Hex in JSON.
    #[serde(with = "hex::serde")]
    pub proof: Vec<u8>,
    /// Public inputs without the leading one, canonical big-endian scalars as 64 hex digits.
    pub public_inputs: Vec<Digest>,
    /// BLAKE3 digest of the verifying key the proof was verified with.
    pub verifying_key: Digest,
    /// Device that proved it, for people.
    pub device: String,
}

/// Orders that overtake the inbox: read whatever the worker's credits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "control", rename_all = "snake_case")]
pub enum Control {
    /// Stop whatever is held for the job and forget it.
    CancelJob {
        /// The job.
        job: JobId,
    },
    /// Give up one attempt: its token was raised.
    TakeBack {
        /// The attempt.
        key: TaskKey,
    },
}
