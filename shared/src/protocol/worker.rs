//! What a worker says of itself with every heartbeat.

use serde::{Deserialize, Serialize};

use super::{CircuitId, Digest, Incarnation, TaskKey, UnixMicros, WorkerId};

/// What a worker process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Plans, synthesizes and finishes; CPU only.
    Synth,
    /// Proves.
    Gpu,
}

/// The device a GPU worker proves on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// Name, such as `cpu (2 threads)`.
    pub name: String,
    /// Backend: `cpu`, `opencl` or `cuda`.
    pub backend: String,
    /// Why this one was chosen.
    pub reason: String,
}

/// An attempt that a worker holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldTask {
    /// The attempt.
    pub key: TaskKey,
    /// True once its start was accepted.
    pub is_started: bool,
    /// Grows while the attempt makes progress; standing still beyond a stage's limit is a stall.
    pub progress: u64,
}

/// The heartbeat's record: renewed every second, gone five seconds after the worker is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerRecord {
    /// Name of the worker.
    pub id: WorkerId,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// What it does.
    pub role: Role,
    /// Protocol version it speaks.
    pub protocol: u16,
    /// Version of the program.
    pub version: String,
    /// Host name.
    pub host: String,
    /// When the process came up, on the cluster's clock.
    pub started_at: UnixMicros,
    /// Tasks it runs at a time.
    pub slots: u32,
    /// Tasks it may hold beyond those it runs.
    pub prefetch: u32,
    /// Circuits it can synthesize; empty for GPU workers, which prove any.
    #[serde(default)]
    pub circuits: Vec<CircuitId>,
    /// Shapes it has resident (GPU: shape and key), so that work for them starts at once.
    #[serde(default)]
    pub warm: Vec<Digest>,
    /// The device of a GPU worker.
    #[serde(default)]
    pub device: Option<DeviceRecord>,
    /// True if a GPU worker holds no matrices of shapes, and proves only assignments with evaluations.
    #[serde(default)]
    pub needs_evaluations: bool,
    /// Attempts it holds.
    #[serde(default)]
    pub held: Vec<HeldTask>,
    /// True once it takes no new work.
    #[serde(default)]
    pub is_draining: bool,
    /// Local wall clock minus cluster clock, microseconds.
    pub clock_offset_micros: i64,
    /// Half the round trip of the measurement behind the offset, microseconds.
    pub clock_uncertainty_micros: u64,
}

/// A circuit program as the cluster knows it, written by the synth workers that run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircuitRecord {
    /// Name and version.
    pub id: CircuitId,
    /// What a proof of it says, one sentence.
    pub statement: String,
    /// What an input looks like, one sentence.
    pub input: String,
    /// Shape of its partitions.
    pub shape: Digest,
    /// Rows of the constraint matrices, without the rows added per public input.
    pub num_constraints: u64,
    /// Public inputs with the leading one.
    pub num_inputs: u64,
    /// Private variables.
    pub num_aux: u64,
}
