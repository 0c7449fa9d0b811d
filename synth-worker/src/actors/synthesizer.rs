//! One synthesis slot: one thread that runs one task at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::{Actor, Handler, Message, SyncContext};
use proofmill_shared::broker::TokenCheck;
use proofmill_shared::membership::{AttemptJournal, Ticket};
use proofmill_shared::protocol::{Task, UnixMicros, WorkerEvent};
use proofmill_shared::telemetry::{SpanId, TimelineEvent};
use tokio::runtime::Handle;

use super::InputCache;
use super::patience::patiently;
use super::tasks::{self, Scene, TaskError};
use crate::circuit::CircuitRegistry;
use crate::handoff::Handoff;

/// Says that tasks which did not start are handed back. Cheap to clone; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct DrainFlag(Arc<AtomicBool>);

impl DrainFlag {
    pub(crate) fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Run one task to its end.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct RunTask {
    pub(crate) task: Task,
    pub(crate) journal: AttemptJournal,
    pub(crate) ticket: Ticket,
}

/// Owns its thread; receives [`RunTask`] from the intake; sends events to the coordinator; ends with the worker, after
/// the task in hand. Circuit code is contained; any other panic ends the process.
pub(crate) struct Synthesizer {
    registry: CircuitRegistry,
    inputs: InputCache,
    runtime: Handle,
    draining: DrainFlag,
    handoff: Handoff,
}

impl Synthesizer {
    pub(crate) const fn new(
        registry: CircuitRegistry,
        inputs: InputCache,
        runtime: Handle,
        draining: DrainFlag,
        handoff: Handoff,
    ) -> Self {
        Self {
            registry,
            inputs,
            runtime,
            draining,
            handoff,
        }
    }
}

impl Actor for Synthesizer {
    type Context = SyncContext<Self>;
}

impl Handler<RunTask> for Synthesizer {
    type Result = ();

    fn handle(&mut self, message: RunTask, _context: &mut Self::Context) {
        let RunTask {
            task,
            mut journal,
            ticket,
        } = message;
        match self.begin(&mut journal, &ticket) {
            Ok(started) => {
                let outcome = self.run(&task, &mut journal, &ticket, started);
                self.end(outcome, &mut journal);
            }
            Err(error) => self.end(Err(error), &mut journal),
        }
        // Whatever the task came to is durable or refused by now.
        ticket.settle();
    }
}

impl Synthesizer {
    /// Writes the start; answers with its instant.
    fn begin(
        &self,
        journal: &mut AttemptJournal,
        ticket: &Ticket,
    ) -> Result<UnixMicros, TaskError> {
        let cancel = ticket.cancel_flag();
        if cancel.is_raised() {
            return Err(TaskError::Cancelled);
        }
        if self.draining.is_raised() {
            return Err(TaskError::HandedBack);
        }
        let broker = journal.context().emitter.broker();
        let start = patiently(&cancel, async || broker.start(journal.key()).await);
        if let TokenCheck::Stale { .. } = self.runtime.block_on(start)? {
            return Err(TaskError::Stale);
        }
        ticket.mark_started();
        let started = journal.now();
        journal.note(TimelineEvent::SynthStart, started, &[]);
        journal.emit_aside(WorkerEvent::Started, &self.runtime);
        Ok(started)
    }

    fn run(
        &self,
        task: &Task,
        journal: &mut AttemptJournal,
        ticket: &Ticket,
        started: UnixMicros,
    ) -> Result<(), TaskError> {
        let scene = Scene {
            runtime: &self.runtime,
            ticket,
            cancel: ticket.cancel_flag(),
            started,
            handoff: &self.handoff,
            span: SpanId::random(),
        };
        let outcome = self.advance(task, &scene, journal);
        if let Err(error) = &outcome {
            scene.record_failure(error, journal);
        }
        outcome
    }

    fn advance(
        &self,
        task: &Task,
        scene: &Scene<'_>,
        journal: &mut AttemptJournal,
    ) -> Result<(), TaskError> {
        let circuit = self.registry.get(task.circuit())?;
        let broker = journal.context().emitter.broker();
        let job = task.key().job;
        let input = self.inputs.get(broker, job, circuit, &scene.cancel);
        let input = self.runtime.block_on(input)?;
        scene.check_wanted()?;
        match task {
            Task::Plan(_) => tasks::plan(scene, circuit, &input, journal),
            Task::Synthesize(task) => tasks::synthesize(scene, circuit, &input, task, journal),
            Task::Finish(task) => {
                let outcome = tasks::finish(scene, circuit, &input, task, journal);
                self.inputs.forget(job);
                outcome
            }
            Task::Prove(_) => Err(TaskError::WrongRole),
        }
    }

    /// Tells the coordinator what it does not know already.
    fn end(&self, outcome: Result<(), TaskError>, journal: &mut AttemptJournal) {
        let key = *journal.key();
        let event = match outcome {
            Ok(()) => return,
            Err(TaskError::Cancelled) => {
                tracing::info!(?key, "task is no longer wanted, given up");
                return;
            }
            Err(TaskError::Stale) => {
                tracing::info!(?key, "task was taken back, its token is refused");
                return;
            }
            Err(TaskError::HandedBack) => {
                tracing::info!(?key, "worker drains, task handed back");
                WorkerEvent::Released
            }
            Err(error) => {
                let failure = error.failure();
                tracing::warn!(job = %key.job, unit = %key.unit, attempt = key.attempt, code = failure.code, reason = failure.message, "task failed");
                WorkerEvent::Failed(failure)
            }
        };
        self.runtime.block_on(journal.emit(event));
    }
}
