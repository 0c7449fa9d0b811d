//! The coordinator's spans: acceptance, waits, finish, and the whole life of a job.

use proofmill_shared::protocol::{
    Digest, FencingToken, Stage, TaskKey, TraceContext, Unit, UnixMicros, WorkerId,
};
use proofmill_shared::telemetry::spans::{attributes, names};
use proofmill_shared::telemetry::{RemoteContext, SpanId, SpanKind, SpanRecord};

use super::site::Site;
use crate::job::JobRecord;
use crate::view::JobState;

/// The id of the span under which an attempt waits: derived from the attempt, so that the message that assigns it and the
/// span that is written when it starts agree, even over a restart of the coordinator in between.
fn wait_span(key: &TaskKey) -> SpanId {
    let FencingToken(token) = key.token;
    derived(&format!(
        "wait {} {} {} {token}",
        key.job, key.unit, key.stage
    ))
}

fn derived(text: &str) -> SpanId {
    let digest = Digest::of(text.as_bytes()).to_string();
    let (id, _) = digest.split_at(SpanId::HEX_LEN);
    // Sixteen zeros happen once in 2^64.
    id.parse().unwrap_or_else(|_| SpanId::random())
}

fn root(job: &JobRecord) -> Option<SpanId> {
    job.root_span.parse().ok()
}

/// The trace context of a message about an attempt.
pub(super) fn assignment_context(job: &JobRecord, key: &TaskKey) -> TraceContext {
    match root(job) {
        Some(root) => TraceContext::of_job(job.id, wait_span(key), root),
        None => TraceContext::default(),
    }
}

/// The job's root, written once its acceptance is durable.
pub(super) fn accepted(site: &Site, job: &JobRecord) {
    let Some(root) = root(job) else { return };
    let client = job.traceparent.as_deref().and_then(RemoteContext::parse);
    let span = SpanRecord::new(names::JOB_SUBMIT, job.id, job.submitted_at, site.now())
        .id(root)
        .kind(SpanKind::Server)
        .link(client)
        .attribute(attributes::CIRCUIT, job.circuit.to_string())
        .attribute(attributes::BYTES, job.input_bytes);
    site.spans().record(span);
}

/// An attempt's wait, written when it starts.
pub(super) fn waited(
    site: &Site,
    job: &JobRecord,
    key: &TaskKey,
    worker: &WorkerId,
    from: UnixMicros,
    assigned_at: UnixMicros,
    to: UnixMicros,
) {
    let name = match key.stage {
        Stage::Synthesis => names::SYNTH_WAIT,
        Stage::Proving => names::HANDOFF_WAIT,
    };
    let queued = assigned_at.since(from).as_micros();
    let span = SpanRecord::new(name, job.id, from, to)
        .id(wait_span(key))
        .kind(SpanKind::Producer)
        .remote_parent(root(job))
        .task(key)
        .attribute(attributes::WORKER, worker.as_str())
        .attribute(
            "proofmill.queued_us",
            u64::try_from(queued).unwrap_or(u64::MAX),
        );
    site.spans().record(span);
}

/// The end of a job: the joining of its proofs, if it came to that, and its whole life.
pub(super) fn job_ended(site: &Site, job: &JobRecord) {
    let ended_at = job.ended_at.unwrap_or_else(|| site.now());
    if job.proved_at.0 != 0 {
        let span = SpanRecord::new(names::JOB_FINISH, job.id, job.proved_at, ended_at)
            .remote_parent(root(job))
            .attribute(attributes::UNIT, Unit::Finish.to_string());
        site.spans().record(outcome(span, job));
    }
    let span = SpanRecord::new(names::JOB, job.id, job.submitted_at, ended_at)
        .remote_parent(root(job))
        .attribute(attributes::CIRCUIT, job.circuit.to_string());
    site.spans().record(outcome(span, job));
}

fn outcome(span: SpanRecord, job: &JobRecord) -> SpanRecord {
    let span = span.attribute(attributes::STATE, format!("{:?}", job.state).to_lowercase());
    let span = match &job.failure {
        Some(failure) => span.attribute(attributes::CODE, failure.code.as_str()),
        None => span,
    };
    if job.state == JobState::Succeeded {
        return span;
    }
    let reason = job.failure.as_ref().map(|failure| failure.message.clone());
    span.error(reason.unwrap_or_else(|| "cancelled".to_owned()))
}

#[cfg(test)]
mod tests {
    use proofmill_shared::protocol::JobId;

    use super::*;

    #[test]
    fn the_wait_of_an_attempt_has_one_id_and_of_the_next_another() {
        let key = TaskKey {
            job: JobId::generate(),
            unit: Unit::Partition(1),
            stage: Stage::Proving,
            attempt: 1,
            token: FencingToken(2),
        };
        assert_eq!(wait_span(&key), wait_span(&key));
        let next = TaskKey {
            token: FencingToken(3),
            ..key
        };
        assert_ne!(wait_span(&key), wait_span(&next));
    }
}
