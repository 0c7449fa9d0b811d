//! Why a device was idle, and for how long by cause.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Why a device was idle. An instant has one cause: that of the proof the device started next, or of all waiting work
/// if there was no such proof yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleCause {
    /// No unit was anywhere between submission and its proof.
    NoWork,
    /// The next proof's witness was not finished.
    SynthStarved,
    /// The next proof's assignment was being encoded, sent, waited for or fetched.
    Transfer,
    /// The next proof was fetched and its key was being loaded (fact `key_load_ms`).
    KeyLoad,
    /// The next proof was there, and the host was busy with something else: verifying the proof before, starting.
    HostOverhead,
    /// The device's worker, or the one that held the next unit, had gone silent and was not replaced yet.
    WorkerDown,
}

impl IdleCause {
    /// Every cause.
    pub const ALL: [Self; 6] = [
        Self::NoWork,
        Self::SynthStarved,
        Self::Transfer,
        Self::KeyLoad,
        Self::HostOverhead,
        Self::WorkerDown,
    ];
}

impl fmt::Display for IdleCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NoWork => "no work",
            Self::SynthStarved => "synth-starved",
            Self::Transfer => "transfer",
            Self::KeyLoad => "key load",
            Self::HostOverhead => "host overhead",
            Self::WorkerDown => "worker down",
        })
    }
}

/// Idle time by cause. As JSON: seconds by cause, every cause named.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdleSplit(BTreeMap<IdleCause, Duration>);

impl IdleSplit {
    /// Idle time of one cause.
    #[must_use]
    pub fn get(&self, cause: IdleCause) -> Duration {
        self.0.get(&cause).copied().unwrap_or_default()
    }

    /// Idle time of all causes.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.0.values().sum()
    }

    /// Causes that took time, the largest first.
    #[must_use]
    pub fn by_size(&self) -> Vec<(IdleCause, Duration)> {
        let mut causes: Vec<_> = self.0.iter().map(|(&cause, &time)| (cause, time)).collect();
        causes.retain(|(_, time)| !time.is_zero());
        causes.sort_by_key(|&(cause, time)| (std::cmp::Reverse(time), cause));
        causes
    }

    pub(super) fn add(&mut self, cause: IdleCause, time: Duration) {
        *self.0.entry(cause).or_default() += time;
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        for (&cause, &time) in &other.0 {
            self.add(cause, time);
        }
    }
}

impl Serialize for IdleSplit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(IdleCause::ALL.len()))?;
        for cause in IdleCause::ALL {
            map.serialize_entry(&cause, &self.get(cause).as_secs_f64())?;
        }
        map.end()
    }
}
