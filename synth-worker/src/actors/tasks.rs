//! What a slot does: plan, synthesize, finish.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use proofmill_shared::assignment::{AssignmentPublisher, PublishError, ShippedReport};
use proofmill_shared::broker::{BrokerError, BrokerHandle, PayloadKey, ResultWrite, TokenCheck};
use proofmill_shared::groth16::public_inputs_from_words;
use proofmill_shared::membership::{AttemptJournal, CancelFlag, Ticket};
use proofmill_shared::protocol::{
    FailureKind, FinishTask, PartitionProof, SynthTask, TaskFailure, Unit, UnixMicros, WorkerEvent,
};
use proofmill_shared::telemetry::spans::attributes::{self, MessagingOperation};
use proofmill_shared::telemetry::spans::names;
use proofmill_shared::telemetry::{SpanId, SpanRecord, TimelineEvent};
use tokio::runtime::Handle;

use super::inputs::InputError;
use crate::circuit::{CircuitError, ParsedInput, RegisteredCircuit};
use crate::witness;

/// Why a task did not reach its effect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    /// Circuit code refused.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// There is no input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The assignment was not shipped.
    #[error(transparent)]
    Publish(PublishError),
    /// The effect could not be written.
    #[error("effect could not be written: {0}")]
    Broker(#[from] BrokerError),
    /// A result cannot be written as, or read from, JSON.
    #[error("result does not read or write: {0}")]
    Json(#[from] serde_json::Error),
    /// A proof of the job is not there.
    #[error("proof of partition {0} is not there")]
    MissingProof(u32),
    /// The task is no longer wanted.
    #[error("cancelled")]
    Cancelled,
    /// The token is no longer current.
    #[error("token is stale")]
    Stale,
}

impl TaskError {
    pub(crate) fn failure(&self) -> TaskFailure {
        match self {
            Self::Circuit(error) => error.failure(),
            Self::Input(error) => error.failure(),
            Self::Publish(error) => error.failure(),
            Self::Broker(_) => TaskFailure::new(
                FailureKind::Infrastructure,
                "broker-failed",
                self.to_string(),
            ),
            Self::Json(_) => {
                TaskFailure::new(FailureKind::Attempt, "result-malformed", self.to_string())
            }
            Self::MissingProof(_) => {
                TaskFailure::new(FailureKind::Attempt, "proof-missing", self.to_string())
            }
            Self::Cancelled | Self::Stale => {
                TaskFailure::new(FailureKind::Infrastructure, "taken-back", self.to_string())
            }
        }
    }
}

impl From<PublishError> for TaskError {
    fn from(error: PublishError) -> Self {
        if matches!(error, PublishError::Cancelled) {
            Self::Cancelled
        } else {
            Self::Publish(error)
        }
    }
}

/// Where a task runs.
pub(crate) struct TaskScene<'a> {
    pub(crate) broker: &'a BrokerHandle,
    pub(crate) circuit: &'a RegisteredCircuit,
    pub(crate) input: &'a ParsedInput,
    pub(crate) runtime: &'a Handle,
    pub(crate) ticket: &'a Ticket,
    pub(crate) cancel: &'a CancelFlag,
}

impl TaskScene<'_> {
    fn check_cancelled(&self) -> Result<(), TaskError> {
        self.ticket.advance();
        if self.cancel.is_raised() {
            Err(TaskError::Cancelled)
        } else {
            Ok(())
        }
    }

    /// Stores a unit's result, then says so.
    fn store(&self, result: Vec<u8>, journal: &mut AttemptJournal) -> Result<(), TaskError> {
        match self
            .runtime
            .block_on(self.broker.store_result(journal.key(), Bytes::from(result)))?
        {
            ResultWrite::Stored | ResultWrite::AlreadyStored => {
                self.runtime.block_on(journal.emit(WorkerEvent::Stored));
                Ok(())
            }
            ResultWrite::Stale { .. } => Err(TaskError::Stale),
        }
    }
}

/// Splits the input; the result is a plan.
pub(crate) fn plan(scene: &TaskScene<'_>, journal: &mut AttemptJournal) -> Result<(), TaskError> {
    let started = journal.now();
    let plan = scene.circuit.plan(scene.input)?;
    let ended = journal.now();
    journal.note(
        TimelineEvent::SynthEnd,
        ended,
        &[("partitions", u64::from(plan.partition_count))],
    );
    journal.record(
        journal
            .span(names::SYNTH, started, ended)
            .link(journal.trace().sender()),
    );
    scene.store(serde_json::to_vec(&plan)?, journal)
}

/// Joins the proofs of all partitions; the result is the job's output.
pub(crate) fn finish(
    scene: &TaskScene<'_>,
    task: &FinishTask,
    journal: &mut AttemptJournal,
) -> Result<(), TaskError> {
    let started = journal.now();
    let mut proofs = Vec::new();
    for partition in 0..task.partition_count {
        scene.check_cancelled()?;
        let stored = scene.runtime.block_on(
            scene
                .broker
                .load_result(task.key.job, Unit::Partition(partition)),
        )?;
        let proof: PartitionProof =
            serde_json::from_slice(&stored.ok_or(TaskError::MissingProof(partition))?)?;
        let inputs = public_inputs_from_words(&proof.public_inputs).map_err(|index| {
            let reason = format!("public input {index} of partition {partition} is not canonical");
            CircuitError::OutputMismatch { reason }
        })?;
        proofs.push(inputs);
    }
    let output = scene.circuit.finish(scene.input, &proofs)?;
    let ended = journal.now();
    journal.note(TimelineEvent::SynthEnd, ended, &[]);
    journal.record(
        journal
            .span(names::JOB_FINISH, started, ended)
            .link(journal.trace().sender()),
    );
    scene.store(serde_json::to_vec(&output)?, journal)
}

/// Computes, checks and ships the witness of one partition.
pub(crate) fn synthesize(
    scene: &TaskScene<'_>,
    task: &SynthTask,
    journal: &mut AttemptJournal,
) -> Result<(), TaskError> {
    let shape = scene.circuit.shape()?;
    let started = journal.now();
    let assignment = scene.circuit.witness(scene.input, task.partition)?;
    let built = journal.now();
    scene.check_cancelled()?;
    let verdict = witness::check(&shape, &assignment, task.partition);
    let ended = journal.now();
    record_synthesis(journal, started, built, ended, verdict.as_ref().err());
    verdict?;
    journal.note(TimelineEvent::SynthEnd, ended, &[]);
    scene.check_cancelled()?;

    let key = PayloadKey {
        job: task.key.job,
        partition: task.partition,
        attempt: task.key.attempt,
    };
    let publisher = AssignmentPublisher::new(scene.broker.clone());
    let digest = shape.digest;
    let first_sent = AtomicU64::new(ended.0);
    let (sending, sent_mark) = (&mut *journal, &first_sent);
    let publishing = publisher.publish(
        key,
        digest,
        Arc::new(assignment),
        move || {
            let now = sending.now();
            sent_mark.store(now.0, Ordering::Relaxed);
            sending.note(TimelineEvent::ChanSend, now, &[]);
            sending.emit(WorkerEvent::Sending { shape: digest })
        },
        || scene.cancel.is_raised(),
    );
    let report = scene.runtime.block_on(publishing)?;
    let send_began = UnixMicros(first_sent.into_inner());
    let shipped = scene.runtime.block_on(
        scene
            .broker
            .mark_shipped(&task.key, report.manifest.clone()),
    )?;
    if let TokenCheck::Stale { .. } = shipped {
        if let Err(error) = scene.runtime.block_on(scene.broker.drop_payload(&key)) {
            tracing::debug!(%error, "payload of a stale attempt stays until it expires");
        }
        return Err(TaskError::Stale);
    }
    let sent = journal.now();
    let facts = [
        ("bytes", report.bytes),
        ("raw_bytes", report.raw_bytes),
        ("chunks", u64::from(report.chunks)),
        (
            "encode_us",
            u64::try_from(report.encode_time.as_micros()).unwrap_or(u64::MAX),
        ),
    ];
    journal.note(TimelineEvent::ChanSent, sent, &facts);
    record_handoff(journal, &key, ended, send_began, sent, &report);
    let (manifest, bytes, raw_bytes) = (report.manifest_digest, report.bytes, report.raw_bytes);
    scene.runtime.block_on(journal.emit(WorkerEvent::Shipped {
        manifest,
        bytes,
        raw_bytes,
    }));
    Ok(())
}

fn record_synthesis(
    journal: &AttemptJournal,
    started: UnixMicros,
    built: UnixMicros,
    ended: UnixMicros,
    error: Option<&CircuitError>,
) {
    let mut whole = journal
        .span(names::SYNTH, started, ended)
        .link(journal.trace().sender());
    let job = journal.key().job;
    journal
        .record(SpanRecord::new(names::SYNTH_WITNESS, job, started, built).parent(whole.span_id));
    journal.record(SpanRecord::new(names::SYNTH_CHECK, job, built, ended).parent(whole.span_id));
    if let Some(error) = error {
        whole = whole.error(error.to_string());
    }
    journal.record(whole);
}

fn record_handoff(
    journal: &AttemptJournal,
    key: &PayloadKey,
    synthesized: UnixMicros,
    send_began: UnixMicros,
    sent: UnixMicros,
    report: &ShippedReport,
) {
    let encoded = synthesized.plus(report.encode_time);
    let ratio = report.raw_bytes as f64 / report.bytes.max(1) as f64;
    let encode = journal
        .span(names::HANDOFF_ENCODE, synthesized, encoded)
        .attribute(attributes::RAW_BYTES, report.raw_bytes)
        .attribute(attributes::BYTES, report.bytes)
        .attribute(attributes::RATIO, ratio);
    journal.record(encode);
    let seconds = sent.since(send_began).as_secs_f64().max(1e-6);
    let system = journal.context().messaging_system;
    let send = journal
        .span(names::HANDOFF_SEND, send_began, sent)
        .id(SpanId::of_handoff(key))
        .messaging(
            system,
            "assignment",
            MessagingOperation::Send,
            Some(report.bytes),
        )
        .attribute(attributes::BYTES, report.bytes)
        .attribute(attributes::RAW_BYTES, report.raw_bytes)
        .attribute(attributes::RATIO, ratio)
        .attribute(attributes::CHUNKS, report.chunks)
        .attribute(attributes::MB_PER_S, report.bytes as f64 / 1e6 / seconds);
    journal.record(send);
}
