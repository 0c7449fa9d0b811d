//! Owns one device: one proof at a time, on a thread of its own.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use actix::{Actor, Addr, Context, Handler, Message};
use proofmill_shared::broker::TokenCheck;
use proofmill_shared::groth16::Assignment;
use proofmill_shared::membership::{CancelFlag, Ticket};
use proofmill_shared::protocol::{FailureKind, TaskFailure, UnixMicros, WorkerEvent};
use proofmill_shared::telemetry::spans::names;
use proofmill_shared::telemetry::{SpanRecord, TimelineEvent};
use rand::rngs::OsRng;
use tokio::runtime::Handle;

use super::{Attempt, ProofPublisher, PublishProof};
use crate::backend::Backend;
use crate::prover::{BlindingFactors, ProveError, Step, StepObserver, StepTime, StepTimes, prove};
use crate::proving_key::ResidentCircuit;
use crate::worker::GpuWorkerError;

/// Assignments that wait, decoded, for the device: the coordinator's credits keep their number below this.
const QUEUE_CAPACITY: usize = 16;

/// A decoded assignment with the circuit it belongs to.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct ProveAssignment<B: Backend> {
    pub(crate) attempt: Attempt,
    pub(crate) circuit: Arc<ResidentCircuit<B>>,
    pub(crate) assignment: Assignment,
    /// When it was fetched and decoded.
    pub(crate) fetched: UnixMicros,
}

/// Owns the device's thread; receives [`ProveAssignment`] from the intake; sends [`PublishProof`] on; ends with the
/// worker, after the proof in hand. A panic on the device's thread ends the process.
pub(crate) struct DeviceOwner<B: Backend> {
    queue: SyncSender<ProveAssignment<B>>,
}

impl<B: Backend> DeviceOwner<B> {
    /// Starts the actor and its device thread.
    ///
    /// # Errors
    /// [`GpuWorkerError::Thread`] if the system gives no thread.
    pub(crate) fn start_on(
        backend: Arc<B>,
        publisher: Addr<ProofPublisher>,
    ) -> Result<Addr<Self>, GpuWorkerError> {
        let (queue, waiting) = sync_channel(QUEUE_CAPACITY);
        let runtime = Handle::current();
        std::thread::Builder::new()
            .name("device".into())
            .spawn(move || run_device(&*backend, &waiting, &publisher, &runtime))
            .map_err(GpuWorkerError::Thread)?;
        Ok(Self { queue }.start())
    }
}

impl<B: Backend> Actor for DeviceOwner<B> {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.set_mailbox_capacity(QUEUE_CAPACITY);
    }
}

impl<B: Backend> Handler<ProveAssignment<B>> for DeviceOwner<B> {
    type Result = ();

    fn handle(&mut self, message: ProveAssignment<B>, _context: &mut Self::Context) {
        if let Err(TrySendError::Full(refused) | TrySendError::Disconnected(refused)) =
            self.queue.try_send(message)
        {
            drop(actix::spawn(refused.attempt.release()));
        }
    }
}

fn run_device<B: Backend>(
    backend: &B,
    waiting: &Receiver<ProveAssignment<B>>,
    publisher: &Addr<ProofPublisher>,
    runtime: &Handle,
) {
    while let Ok(message) = waiting.recv() {
        if let Some(proved) = prove_one(backend, message, runtime) {
            publisher.do_send(proved);
        }
    }
}

/// Proves one assignment; `None` if the attempt ended here.
fn prove_one<B: Backend>(
    backend: &B,
    message: ProveAssignment<B>,
    runtime: &Handle,
) -> Option<PublishProof<B>> {
    let ProveAssignment {
        attempt,
        circuit,
        assignment,
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
    let outcome = prove(backend, circuit.loaded(), &assignment, &blinding, &observer);
    let steps = observer.times.take();
    let ended = attempt.journal.now();
    attempt.journal.note(TimelineEvent::GpuEnd, ended, &[]);
    record_steps(&attempt, started, ended, &steps, outcome.as_ref().err());
    match outcome {
        Ok(proof) => {
            let public_inputs = assignment.input.get(1..).unwrap_or_default().to_vec();
            Some(PublishProof {
                attempt,
                circuit,
                proof,
                public_inputs,
            })
        }
        Err(ProveError::Cancelled) => {
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

fn record_steps(
    attempt: &Attempt,
    started: UnixMicros,
    ended: UnixMicros,
    steps: &[StepTime],
    error: Option<&ProveError>,
) {
    let journal = &attempt.journal;
    let mut whole = journal
        .span(names::GPU_PROVE, started, ended)
        .link(journal.trace().sender());
    if let Some(error) = error {
        whole = whole.error(error.to_string());
    }
    let clock = journal.context().emitter.clock();
    for step in steps {
        // Steps lie within the whole, also where the clock was slewed between two readings.
        let from = clock.at(step.started).clamp(started, ended);
        let to = clock.at(step.ended).clamp(from, ended);
        let span = SpanRecord::new(step.step.span_name(), attempt.task.key.job, from, to);
        journal.record(span.parent(whole.span_id));
    }
    journal.record(whole);
}
