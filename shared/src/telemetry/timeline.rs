//! What happened when: the events of a job's life.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::protocol::{JobId, TaskKey, Unit, UnixMicros, WorkerId};

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

/// Keys of facts that the analysis reads.
pub mod fields {
    /// On proving events: what the device is called.
    pub const DEVICE: &str = "device";
    /// On proving events: which device, where one worker drives several or several share one.
    pub const GPU: &str = "gpu";
    /// On GPU_START or FETCH_END: milliseconds spent loading the proving key just before GPU_START.
    pub const KEY_LOAD_MS: &str = "key_load_ms";
    /// On the last event of an attempt that failed: the failure's stable code.
    pub const ERROR: &str = "error";
    /// On JOB_DONE: the terminal state.
    pub const STATE: &str = "state";
    /// On CHAN_SENT and FETCH_END: bytes that travelled.
    pub const BYTES: &str = "bytes";
    /// On CHAN_SENT: bytes of the same assignment at 32 bytes a scalar.
    pub const RAW_BYTES: &str = "raw_bytes";
    /// Chunks that travelled.
    pub const CHUNKS: &str = "chunks";
    /// On JOB_SUBMIT: the circuit.
    pub const CIRCUIT: &str = "circuit";
}

/// Every event with its name in logs and JSON, in the order of a job's life.
const NAMES: [(TimelineEvent, &str); 13] = [
    (TimelineEvent::JobSubmit, "JOB_SUBMIT"),
    (TimelineEvent::SynthAssign, "SYNTH_ASSIGN"),
    (TimelineEvent::SynthStart, "SYNTH_START"),
    (TimelineEvent::SynthEnd, "SYNTH_END"),
    (TimelineEvent::ChanSend, "CHAN_SEND"),
    (TimelineEvent::ChanSent, "CHAN_SENT"),
    (TimelineEvent::GpuAssign, "GPU_ASSIGN"),
    (TimelineEvent::GpuPickup, "GPU_PICKUP"),
    (TimelineEvent::FetchEnd, "FETCH_END"),
    (TimelineEvent::GpuStart, "GPU_START"),
    (TimelineEvent::GpuEnd, "GPU_END"),
    (TimelineEvent::ProofVerified, "PROOF_VERIFIED"),
    (TimelineEvent::JobDone, "JOB_DONE"),
];

/// Text that names no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a timeline event: expected one such as SYNTH_START")]
pub struct UnknownEvent(String);

impl TimelineEvent {
    /// Every event, in the order of a job's life.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.into_iter().map(|(event, _)| event)
    }

    /// The name, such as `JOB_SUBMIT`.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }
}

impl fmt::Display for TimelineEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for TimelineEvent {
    type Err = UnknownEvent;

    fn from_str(name: &str) -> Result<Self, UnknownEvent> {
        NAMES
            .into_iter()
            .find_map(|(event, known)| (known == name).then_some(event))
            .ok_or_else(|| UnknownEvent(name.to_owned()))
    }
}

/// Target of TIMELINE lines, so that a filter can keep or leave them.
pub const TIMELINE_TARGET: &str = "TIMELINE";

impl TimelineRecord {
    /// Makes a record of a job as a whole.
    #[must_use]
    pub fn new(event: TimelineEvent, at: UnixMicros, job: JobId) -> Self {
        Self {
            event,
            at,
            job,
            unit: None,
            attempt: 0,
            worker: None,
            fields: BTreeMap::new(),
        }
    }

    /// Makes a record of an attempt on a worker.
    #[must_use]
    pub fn of_task(event: TimelineEvent, at: UnixMicros, key: &TaskKey, worker: &WorkerId) -> Self {
        Self {
            unit: Some(key.unit),
            attempt: key.attempt,
            worker: Some(worker.clone()),
            ..Self::new(event, at, key.job)
        }
    }

    /// Adds a fact.
    #[must_use]
    pub fn field(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.fields.insert(key.to_owned(), value.to_string());
        self
    }

    /// The log line: `TIMELINE <EVENT> <ms since the cluster epoch> <job> [key=value …]`. A value with blanks or quotes
    /// is quoted. An instant before the epoch is written as 0.
    #[must_use]
    pub fn line(&self, epoch: UnixMicros) -> String {
        let ms = self.at.since(epoch).as_millis();
        let mut line = format!("TIMELINE {} {ms} {}", self.event, self.job);
        if let Some(unit) = self.unit {
            push_field(&mut line, "unit", &unit.to_string());
            push_field(&mut line, "attempt", &self.attempt.to_string());
        }
        if let Some(worker) = &self.worker {
            push_field(&mut line, "worker", worker.as_str());
        }
        for (key, value) in &self.fields {
            push_field(&mut line, key, value);
        }
        line
    }

    /// Logs the line with target [`TIMELINE_TARGET`]: exactly one tracing event.
    pub fn log(&self, epoch: UnixMicros) {
        if tracing::enabled!(target: TIMELINE_TARGET, tracing::Level::INFO) {
            tracing::info!(target: TIMELINE_TARGET, "{}", self.line(epoch));
        }
    }
}

/// Writes ` key=value`; `{:?}` quotes and escapes what would not read back as one word.
fn push_field(line: &mut String, key: &str, value: &str) {
    let is_plain = !value.is_empty()
        && !value.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"');
    let written = if is_plain {
        write!(line, " {key}={value}")
    } else {
        write!(line, " {key}={value:?}")
    };
    debug_assert!(written.is_ok(), "writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{FencingToken, Stage};

    #[test]
    fn names_are_those_of_json_and_read_back() {
        for event in TimelineEvent::all() {
            assert_eq!(serde_json::to_value(event).unwrap(), event.name());
            assert_eq!(event.name().parse(), Ok(event));
        }
        assert_eq!(
            TimelineEvent::all().count(),
            TimelineEvent::JobDone as usize + 1
        );
        assert!("SYNTH".parse::<TimelineEvent>().is_err());
    }

    #[test]
    fn a_line_says_event_milliseconds_job_and_facts() {
        let job: JobId = "0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11".parse().unwrap();
        let key = TaskKey {
            job,
            unit: Unit::Partition(3),
            stage: Stage::Proving,
            attempt: 2,
            token: FencingToken(5),
        };
        let worker = WorkerId::new("gpu-1").unwrap();
        let record = TimelineRecord::of_task(
            TimelineEvent::GpuStart,
            UnixMicros(1_250_999),
            &key,
            &worker,
        )
        .field("device", "cpu (2 threads)");
        assert_eq!(
            record.line(UnixMicros(1_000_000)),
            "TIMELINE GPU_START 250 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=3 attempt=2 worker=gpu-1 device=\"cpu (2 threads)\""
        );
        let whole = TimelineRecord::new(TimelineEvent::JobSubmit, UnixMicros(5), job);
        assert_eq!(
            whole.line(UnixMicros(1_000_000)),
            "TIMELINE JOB_SUBMIT 0 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11"
        );
    }
}
