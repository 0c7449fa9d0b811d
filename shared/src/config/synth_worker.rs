//! Section `[synth_worker]`.

use serde::Deserialize;

use super::identity::id_or_default;
use super::raw::read;
use super::{ConfigError, PREFETCH_MAX, RawConfig, Scalar};
use crate::protocol::WorkerId;

/// Partitions synthesized at a time unless configured: synthesis of one circuit uses one core for most of its time.
pub const SLOTS_DEFAULT: u32 = 1;

/// Most slots of one worker.
pub const SLOTS_MAX: u32 = 1024;

/// Tasks held beyond those that run unless configured: hides the round trip of the next assignment.
pub const SYNTH_PREFETCH_DEFAULT: u32 = 1;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SynthWorkerSection {
    id: Option<Scalar>,
    slots: Option<Scalar>,
    prefetch: Option<Scalar>,
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
        })
    }
}
