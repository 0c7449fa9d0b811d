//! One event in the form the analysis reads, whatever log or store it came from.

use std::collections::BTreeMap;

use crate::protocol::UnixMicros;
use crate::telemetry::{LoggedEvent, TimelineEvent, TimelineRecord};

/// Worker name of synthesis events whose log names none.
const UNNAMED_SYNTH: &str = "synth";
/// Worker name of proving events whose log names none.
const UNNAMED_GPU: &str = "gpu";

/// One event of one unit of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// What happened.
    pub event: TimelineEvent,
    /// When.
    pub at: UnixMicros,
    /// The job's name.
    pub job: String,
    /// The unit within the job; empty for the job as a whole.
    pub unit: String,
    /// The attempt within unit and stage, from 1; 0 for the job as a whole.
    pub attempt: u32,
    /// The worker; empty for the coordinator.
    pub worker: String,
    /// Further facts.
    pub fields: BTreeMap<String, String>,
}

impl From<&TimelineRecord> for Moment {
    fn from(record: &TimelineRecord) -> Self {
        Self {
            event: record.event,
            at: record.at,
            job: record.job.to_string(),
            unit: record
                .unit
                .map_or_else(String::new, |unit| unit.to_string()),
            attempt: record.attempt,
            worker: record
                .worker
                .as_ref()
                .map_or_else(String::new, ToString::to_string),
            fields: record.fields.clone(),
        }
    }
}

impl From<&LoggedEvent> for Moment {
    /// Reads `unit` (or `partition`), `attempt` and `worker` from the detail; without them the job is one unit, the
    /// attempt the first, and all synthesis runs on one worker and all proving on another.
    fn from(logged: &LoggedEvent) -> Self {
        let mut fields: BTreeMap<String, String> = logged.fields().into_iter().collect();
        let is_whole_job = matches!(
            logged.event,
            TimelineEvent::JobSubmit | TimelineEvent::JobDone
        );
        let unit = fields.remove("unit").or_else(|| fields.remove("partition"));
        let attempt = fields
            .remove("attempt")
            .and_then(|attempt| attempt.parse().ok());
        let worker = fields.remove("worker");
        let unnamed = if is_proving(logged.event) {
            UNNAMED_GPU
        } else {
            UNNAMED_SYNTH
        };
        Self {
            event: logged.event,
            at: UnixMicros(logged.ms.saturating_mul(1_000)),
            job: logged.job.clone(),
            unit: if is_whole_job {
                String::new()
            } else {
                unit.unwrap_or_else(|| "0".to_owned())
            },
            attempt: if is_whole_job {
                0
            } else {
                attempt.unwrap_or(1)
            },
            worker: if is_whole_job {
                String::new()
            } else {
                worker.unwrap_or_else(|| unnamed.to_owned())
            },
            fields,
        }
    }
}

/// True for events of a proving attempt.
pub(super) const fn is_proving(event: TimelineEvent) -> bool {
    match event {
        TimelineEvent::GpuAssign
        | TimelineEvent::GpuPickup
        | TimelineEvent::FetchEnd
        | TimelineEvent::GpuStart
        | TimelineEvent::GpuEnd
        | TimelineEvent::ProofVerified => true,
        TimelineEvent::JobSubmit
        | TimelineEvent::SynthAssign
        | TimelineEvent::SynthStart
        | TimelineEvent::SynthEnd
        | TimelineEvent::ChanSend
        | TimelineEvent::ChanSent
        | TimelineEvent::JobDone => false,
    }
}
