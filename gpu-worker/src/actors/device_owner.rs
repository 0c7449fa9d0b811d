//! Owns one device: one proof at a time, on a thread of its own.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use actix::{Actor, Addr, Context, Handler, Message};
use proofmill_shared::assignment::{AssignmentFetcher, BudgetShare};
use proofmill_shared::broker::TokenCheck;
use proofmill_shared::groth16::Assignment;
use proofmill_shared::membership::{CancelFlag, Ticket};
use proofmill_shared::protocol::{FailureKind, TaskFailure, UnixMicros, WorkerEvent};
use proofmill_shared::telemetry::spans::names;
use proofmill_shared::telemetry::{SpanRecord, TimelineEvent};
use rand::rngs::OsRng;
use tokio::runtime::Handle;

use super::{Attempt, ProofPublisher, PublishProof};
use crate::device::{Device, DeviceProofError};
use crate::prover::{BlindingFactors, Step, StepObserver, StepTime, StepTimes};
use crate::worker::GpuWorkerError;

/// Assignments that wait, decoded, for the device: the coordinator's credits keep their number below this.
const QUEUE_CAPACITY: usize = 16;

/// A decoded assignment whose circuit is on the device.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct ProveAssignment {
    pub(crate) attempt: Attempt,
    pub(crate) assignment: Assignment,
    /// The memory that is set aside for it.
    pub(crate) share: BudgetShare,
    /// Takes the assignment back.
    pub(crate) fetcher: AssignmentFetcher,
    /// When it was fetched and decoded.
    pub(crate) fetched: UnixMicros,
}

/// Owns the device's thread; receives [`ProveAssignment`] from the intake; sends [`PublishProof`] on; ends with the
/// worker, after the proof in hand. A panic on the device's thread ends the process.
pub(crate) struct DeviceOwner {
    queue: SyncSender<ProveAssignment>,
}

impl DeviceOwner {
    /// Starts the actor and its device thread.
    ///
    /// # Errors
    /// [`GpuWorkerError::Thread`] if the system gives no thread.
    pub(crate) fn start_on(
        device: Arc<Device>,
        publisher: Addr<ProofPublisher>,
    ) -> Result<Addr<Self>, GpuWorkerError> {
        let (queue, waiting) = sync_channel(QUEUE_CAPACITY);
        let runtime = Handle::current();
        std::thread::Builder::new()
            .name("device".into())
            .spawn(move || run_device(&device, &waiting, &publisher, &runtime))
            .map_err(GpuWorkerError::Thread)?;
        Ok(Self { queue }.start())
    }
}

impl Actor for DeviceOwner {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.set_mailbox_capacity(QUEUE_CAPACITY);
    }
}

impl Handler<ProveAssignment> for DeviceOwner {
    type Result = ();

    fn handle(&mut self, message: ProveAssignment, _context: &mut Self::Context) {
        if let Err(TrySendError::Full(refused) | TrySendError::Disconnected(refused)) =
            self.queue.try_send(message)
        {
            drop(actix::spawn(refused.attempt.release()));
        }
    }
}

fn run_device(
    device: &Device,
    waiting: &Receiver<ProveAssignment>,
    publisher: &Addr<ProofPublisher>,
    runtime: &Handle,
) {
    while let Ok(message) = waiting.recv() {
        if let Some(proved) = prove_one(device, message, runtime) {
            publisher.do_send(proved);
        }
    }
}

/// Proves one assignment; `None` if the attempt ended here.
fn prove_one(device: &Device, message: ProveAssignment, runtime: &Handle) -> Option<PublishProof> {
    let ProveAssignment {
        attempt,
        assignment,
        share,
        fetcher,
        fetched,
    } = message;
    let mut attempt = begin(attempt, runtime)?;
    let started = attempt.journal.now();
    attempt.journal.note(TimelineEvent::GpuStart, started, &[]);
    attempt
        .journal
        .record(attempt.journal.span(names::GPU_WAIT, fetched, started));
    attempt.journal.emit_aside(WorkerEvent::Started, runtime);

    let observer = Observer {
        cancel: attempt.ticket.cancel_flag(),
        ticket: &attempt.ticket,
        times: StepTimes::default(),
    };
    let blinding = BlindingFactors::random(&mut OsRng);
    let outcome = device.prove(&attempt.task.shape, &assignment, &blinding, &observer);
    fetcher.recycle(assignment);
    drop(share);
    let steps = observer.times.take();
    record_proof(&mut attempt, started, &steps, outcome.as_ref().err());
    match outcome {
        Ok(proof) => Some(PublishProof { attempt, proof }),
        Err(error) if error.is_cancelled() => {
            attempt.abandon("cancelled between two steps");
            None
        }
        Err(error) => {
            runtime.block_on(attempt.fail(error.failure()));
            None
        }
    }
}

/// Writes the start; `None` if the attempt ended here.
fn begin(attempt: Attempt, runtime: &Handle) -> Option<Attempt> {
    if attempt.ticket.cancel_flag().is_raised() {
        attempt.abandon("no longer wanted");
        return None;
    }
    let broker = attempt.journal.context().emitter.broker().clone();
    match runtime.block_on(broker.start(&attempt.task.key)) {
        Ok(TokenCheck::Accepted) => {
            attempt.ticket.mark_started();
            Some(attempt)
        }
        Ok(TokenCheck::Stale { current }) => {
            attempt.abandon(&format!("token is stale, {current} stands"));
            None
        }
        Err(error) => {
            let reason = format!("start could not be written: {error}");
            let failure = TaskFailure::new(FailureKind::Infrastructure, "broker-failed", reason);
            runtime.block_on(attempt.fail(failure));
            None
        }
    }
}

/// Keeps the times of the steps, counts progress, and stops the proof when it is cancelled.
struct Observer<'a> {
    cancel: CancelFlag,
    ticket: &'a Ticket,
    times: StepTimes,
}

impl StepObserver for Observer<'_> {
    fn step_ended(&self, step: Step, started: std::time::Instant, ended: std::time::Instant) {
        self.ticket.advance();
        self.times.step_ended(step, started, ended);
    }

    fn should_stop(&self) -> bool {
        self.cancel.is_raised()
    }
}

/// Notes and records what the device did: it is done when verification, on the host, begins.
fn record_proof(
    attempt: &mut Attempt,
    started: UnixMicros,
    steps: &[StepTime],
    error: Option<&DeviceProofError>,
) {
    let now = attempt.journal.now();
    let clock = attempt.journal.context().emitter.clock().clone();
    // Steps lie within the whole, also where the clock was slewed between two readings.
    let within = |instant| clock.at(instant).clamp(started, now);
    let verify = steps.iter().find(|step| step.step == Step::Verify);
    let ended = verify.map_or(now, |step| within(step.started));
    attempt.journal.note(TimelineEvent::GpuEnd, ended, &[]);
    let journal = &attempt.journal;
    let mut whole = journal
        .span(names::GPU_PROVE, started, ended)
        .link(journal.trace().sender());
    if let Some(error) = error {
        whole = whole.error(error.to_string());
    }
    for step in steps.iter().filter(|step| step.step != Step::Verify) {
        let (from, to) = (within(step.started), within(step.ended).min(ended));
        let span = SpanRecord::new(step.step.span_name(), attempt.task.key.job, from, to);
        journal.record(span.parent(whole.span_id));
    }
    journal.record(whole);
    if let Some(step) = verify {
        let verified = within(step.ended);
        journal.record(journal.span(names::PROOF_VERIFY, ended, verified));
        attempt
            .journal
            .note(TimelineEvent::ProofVerified, verified, &[]);
    }
}
