//! Ships a checked assignment: CHAN_SEND to CHAN_SENT.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proofmill_shared::assignment::{
    AssignmentFacts, AssignmentPublisher, PublishError, ShippedReport,
};
use proofmill_shared::broker::{BrokerHandle, PayloadKey, TokenCheck};
use proofmill_shared::groth16::Assignment;
use proofmill_shared::membership::AttemptJournal;
use proofmill_shared::protocol::{Digest, UnixMicros, WorkerEvent};
use proofmill_shared::telemetry::spans::attributes::{self, MessagingOperation};
use proofmill_shared::telemetry::spans::names;
use proofmill_shared::telemetry::{SpanId, SpanRecord, TimelineEvent, fields};

use super::{Scene, TaskError};

/// What the payload's stream is called in spans: its full name differs for every attempt.
const DESTINATION: &str = "assignment";

/// Shortest time a rate is computed over, in seconds: the clock counts microseconds.
const SECONDS_MIN: f64 = 1e-6;

/// Encodes and sends the assignment, the manifest last, then marks the partition as shipped.
pub(super) fn ship(
    scene: &Scene<'_>,
    facts: AssignmentFacts,
    assignment: Assignment,
    journal: &mut AttemptJournal,
) -> Result<(), TaskError> {
    let AssignmentFacts { key, shape, .. } = facts;
    let began = journal.now();
    let (first_sent, published) = publish(scene, &key, shape, assignment, journal);
    let sent = journal.now();
    let report = match published {
        Ok(report) => report,
        Err(PublishError::Cancelled) => return Err(TaskError::Cancelled),
        Err(error) => {
            let failure = error.failure();
            let span = send_span(journal, &key, first_sent.unwrap_or(began), sent)
                .error(failure.message)
                .attribute(attributes::CODE, failure.code);
            journal.record(span);
            return Err(error.into());
        }
    };
    scene.handoff.sent(&report);
    record_handoff(
        journal,
        &key,
        began,
        first_sent.unwrap_or(began),
        sent,
        &report,
    );
    mark_shipped(scene, &key, &report, journal)?;
    let facts = [
        (fields::BYTES, report.sizes.bytes),
        (fields::RAW_BYTES, report.sizes.raw_bytes),
        (fields::CHUNKS, u64::from(report.sizes.chunks)),
    ];
    journal.note(TimelineEvent::ChanSent, sent, &facts);
    let shipped = WorkerEvent::Shipped {
        manifest: report.manifest_digest,
        bytes: report.sizes.bytes,
        raw_bytes: report.sizes.raw_bytes,
    };
    scene.runtime.block_on(journal.emit(shipped));
    Ok(())
}

/// Encodes and sends; answers with the instant of CHAN_SEND, if it came to that.
fn publish(
    scene: &Scene<'_>,
    key: &PayloadKey,
    shape: Digest,
    assignment: Assignment,
    journal: &mut AttemptJournal,
) -> (Option<UnixMicros>, Result<ShippedReport, PublishError>) {
    let publisher = AssignmentPublisher::new(journal.context().emitter.broker().clone());
    // 0 until CHAN_SEND.
    let first_sent = AtomicU64::new(0);
    let mark = &first_sent;
    let publishing = publisher.publish(
        *key,
        shape,
        Arc::new(assignment),
        move || {
            let now = journal.now();
            mark.store(now.0, Ordering::Relaxed);
            journal.note(TimelineEvent::ChanSend, now, &[]);
            journal.emit(WorkerEvent::Sending { shape })
        },
        || {
            scene.ticket.advance();
            scene.cancel.is_raised()
        },
    );
    let published = scene.runtime.block_on(publishing);
    let first_sent = Some(first_sent.into_inner()).filter(|micros| *micros != 0);
    (first_sent.map(UnixMicros), published)
}

/// Marks the partition as shipped, under the attempt's token. A payload that nobody will fetch is removed.
fn mark_shipped(
    scene: &Scene<'_>,
    key: &PayloadKey,
    report: &ShippedReport,
    journal: &AttemptJournal,
) -> Result<(), TaskError> {
    let mark = async |broker: &BrokerHandle| {
        broker
            .mark_shipped(journal.key(), report.manifest_digest)
            .await
    };
    // A broken call may have been applied: the payload must stay.
    if let TokenCheck::Accepted = scene.call(journal, mark)? {
        return Ok(());
    }
    let broker = journal.context().emitter.broker();
    if let Err(error) = scene.runtime.block_on(broker.drop_payload(key)) {
        tracing::debug!(%error, "payload of a stale attempt stays until it expires");
    }
    Err(TaskError::Stale)
}

fn record_handoff(
    journal: &AttemptJournal,
    key: &PayloadKey,
    began: UnixMicros,
    first_sent: UnixMicros,
    sent: UnixMicros,
    report: &ShippedReport,
) {
    // Coding goes on while earlier chunks are sent: the span shows how much of it there was.
    let coded = began.plus(report.encode_time);
    let encode = journal.span(names::HANDOFF_ENCODE, began, coded);
    journal.record(encode.payload(&report.sizes));
    let seconds = sent.since(first_sent).as_secs_f64().max(SECONDS_MIN);
    let send = send_span(journal, key, first_sent, sent)
        .payload(&report.sizes)
        .attribute(
            attributes::MB_PER_S,
            report.sizes.bytes as f64 / 1e6 / seconds,
        );
    journal.record(send);
}

/// The span that the fetching side links to.
fn send_span(
    journal: &AttemptJournal,
    key: &PayloadKey,
    start: UnixMicros,
    end: UnixMicros,
) -> SpanRecord {
    let system = journal.context().messaging_system;
    journal
        .span(names::HANDOFF_SEND, start, end)
        .id(SpanId::of_handoff(key))
        .messaging(system, DESTINATION, MessagingOperation::Send, None)
}
