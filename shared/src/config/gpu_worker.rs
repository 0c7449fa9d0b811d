//! Section `[gpu_worker]`.

use std::str::FromStr;

use serde::Deserialize;

use super::identity::id_or_default;
use super::raw::read;
use super::{ByteSize, ConfigError, RawConfig, Scalar, assignment_budget_default};
use crate::protocol::WorkerId;

/// Assignments fetched and decoded ahead of the proof that runs unless configured: one keeps a device busy as long as a
/// fetch is shorter than a proof.
pub const GPU_PREFETCH_DEFAULT: u32 = 1;

/// Most tasks a worker holds beyond those that run: each is memory, and work that others could do.
pub const PREFETCH_MAX: u32 = 16;

/// Memory for proving keys that stay loaded unless configured; least recently used goes first.
pub const KEY_BUDGET_BYTES_DEFAULT: ByteSize = ByteSize::mebibytes(4096);

/// Device sought unless configured.
const DEVICE_DEFAULT: &str = "auto";

/// Longest device selector, in characters.
const DEVICE_LEN_MAX: usize = 128;

/// How much of a shape a host holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShapeResidency {
    /// All of it: constraints are evaluated here.
    #[default]
    Full,
    /// Counts and densities: evaluations come with the assignment.
    Summary,
}

/// A choice that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected full or summary, found {0:?}")]
pub struct UnknownShapeResidency(String);

impl FromStr for ShapeResidency {
    type Err = UnknownShapeResidency;

    fn from_str(text: &str) -> Result<Self, UnknownShapeResidency> {
        match text {
            "full" => Ok(Self::Full),
            "summary" => Ok(Self::Summary),
            _ => Err(UnknownShapeResidency(text.to_owned())),
        }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct GpuWorkerSection {
    id: Option<Scalar>,
    device: Option<Scalar>,
    prefetch: Option<Scalar>,
    key_budget_bytes: Option<Scalar>,
    insecure_keys: Option<Scalar>,
    shapes: Option<Scalar>,
    assignment_budget_bytes: Option<Scalar>,
}

/// How a GPU worker runs.
#[derive(Debug, Clone)]
pub struct GpuWorkerSettings {
    /// `gpu_worker.id`: name of the worker; one that stays over restarts lets its inbox be taken up again. Default: host,
    /// role and four digits.
    pub id: WorkerId,
    /// `gpu_worker.device`: `auto`, or a device that must be used (`cpu`). Default `auto`.
    pub device: String,
    /// `gpu_worker.prefetch`: assignments fetched ahead, 0 to [`PREFETCH_MAX`]. Each takes 32 bytes a variable. Default
    /// [`GPU_PREFETCH_DEFAULT`].
    pub prefetch: u32,
    /// `gpu_worker.key_budget_bytes`: memory for keys and shapes that stay loaded. Too little loads a key again and
    /// again. Default [`KEY_BUDGET_BYTES_DEFAULT`].
    pub key_budget_bytes: ByteSize,
    /// `gpu_worker.insecure_keys`: true takes keys that let anyone forge proofs, for development; written into every
    /// job's record. Default false.
    pub is_insecure_key_allowed: bool,
    /// `gpu_worker.shapes`: `full` holds the matrices of circuits and is sent witnesses; `summary` holds counts and
    /// densities only, and is sent evaluations too: less memory, more bytes on the network. Default `full`.
    pub shapes: ShapeResidency,
    /// `gpu_worker.assignment_budget_bytes`: memory that assignments may take from their fetch until they are proved; a
    /// prefetch waits for its share, a partition that needs more at once is refused. Default: half of the machine's memory,
    /// or of the container's limit.
    pub assignment_budget_bytes: ByteSize,
}

impl GpuWorkerSettings {
    /// Checks the section.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`] naming the key.
    pub fn from_raw(raw: &RawConfig) -> Result<Self, ConfigError> {
        let prefetch = read!(raw.gpu_worker.prefetch)?.unwrap_or(GPU_PREFETCH_DEFAULT);
        let device: String =
            read!(raw.gpu_worker.device)?.unwrap_or_else(|| DEVICE_DEFAULT.to_owned());
        if device.is_empty() || device.len() > DEVICE_LEN_MAX {
            return Err(raw.refuse("gpu_worker.device", "expected auto, cpu or a device's name"));
        }
        Ok(Self {
            id: id_or_default(raw, "gpu_worker.id", raw.gpu_worker.id.as_ref(), "gpu")?,
            device,
            prefetch: raw.within("gpu_worker.prefetch", prefetch, 0..=PREFETCH_MAX)?,
            key_budget_bytes: read!(raw.gpu_worker.key_budget_bytes)?
                .unwrap_or(KEY_BUDGET_BYTES_DEFAULT),
            shapes: read!(raw.gpu_worker.shapes)?.unwrap_or_default(),
            assignment_budget_bytes: read!(raw.gpu_worker.assignment_budget_bytes)?
                .unwrap_or_else(assignment_budget_default),
            is_insecure_key_allowed: read!(raw.gpu_worker.insecure_keys)?.unwrap_or(false),
        })
    }
}
