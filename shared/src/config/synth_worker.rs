//! Section `[synth_worker]`.

use std::str::FromStr;

use serde::Deserialize;

use super::identity::id_or_default;
use super::raw::read;
use super::{ByteSize, ConfigError, PREFETCH_MAX, RawConfig, Scalar, assignment_budget_default};
use crate::protocol::WorkerId;

/// Partitions synthesized at a time unless configured: synthesis of one circuit uses one core for most of its time.
pub const SLOTS_DEFAULT: u32 = 1;

/// Most slots of one worker.
pub const SLOTS_MAX: u32 = 1024;

/// Tasks held beyond those that run unless configured: hides the round trip of the next assignment.
pub const SYNTH_PREFETCH_DEFAULT: u32 = 1;

/// What the operator wants to travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HandoffChoice {
    /// Whatever suits the GPU workers that are there, and the network.
    #[default]
    Auto,
    /// The witness alone.
    Witness,
    /// Evaluations too, always.
    Evaluated,
}

/// A choice that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected auto, witness or evaluated, found {0:?}")]
pub struct UnknownHandoff(String);

impl FromStr for HandoffChoice {
    type Err = UnknownHandoff;

    fn from_str(text: &str) -> Result<Self, UnknownHandoff> {
        match text {
            "auto" => Ok(Self::Auto),
            "witness" => Ok(Self::Witness),
            "evaluated" => Ok(Self::Evaluated),
            _ => Err(UnknownHandoff(text.to_owned())),
        }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SynthWorkerSection {
    id: Option<Scalar>,
    slots: Option<Scalar>,
    prefetch: Option<Scalar>,
    handoff: Option<Scalar>,
    assignment_budget_bytes: Option<Scalar>,
}

/// How a synth worker runs.
#[derive(Debug, Clone)]
pub struct SynthWorkerSettings {
    /// `synth_worker.id`: name of the worker; one that stays over restarts lets its inbox be taken up again. Default:
    /// host, role and four digits.
    pub id: WorkerId,
    /// `synth_worker.slots`: partitions synthesized at a time, 1 to [`SLOTS_MAX`]. Each needs the memory of one instance.
    /// Default [`SLOTS_DEFAULT`].
    pub slots: u32,
    /// `synth_worker.prefetch`: tasks held beyond those that run, 0 to [`PREFETCH_MAX`]. Default
    /// [`SYNTH_PREFETCH_DEFAULT`].
    pub prefetch: u32,
    /// `synth_worker.handoff`: what travels. `witness`; `evaluated` (the evaluations of the constraints too, 64 bytes a
    /// constraint before coding); `auto`: evaluations if a GPU worker needs them or the network is faster than computing
    /// them. Default `auto`.
    pub handoff: HandoffChoice,
    /// `synth_worker.assignment_budget_bytes`: memory that all slots' assignments may take while they are synthesized, coded
    /// and sent; a partition that needs more at once is refused. Default: half of the machine's memory, or of the
    /// container's limit.
    pub assignment_budget_bytes: ByteSize,
}

impl SynthWorkerSettings {
    /// Checks the section.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`] naming the key.
    pub fn from_raw(raw: &RawConfig) -> Result<Self, ConfigError> {
        let slots = read!(raw.synth_worker.slots)?.unwrap_or(SLOTS_DEFAULT);
        let prefetch = read!(raw.synth_worker.prefetch)?.unwrap_or(SYNTH_PREFETCH_DEFAULT);
        Ok(Self {
            id: id_or_default(
                raw,
                "synth_worker.id",
                raw.synth_worker.id.as_ref(),
                "synth",
            )?,
            slots: raw.within("synth_worker.slots", slots, 1..=SLOTS_MAX)?,
            prefetch: raw.within("synth_worker.prefetch", prefetch, 0..=PREFETCH_MAX)?,
            handoff: read!(raw.synth_worker.handoff)?.unwrap_or_default(),
            assignment_budget_bytes: read!(raw.synth_worker.assignment_budget_bytes)?
                .unwrap_or_else(assignment_budget_default),
        })
    }
}
