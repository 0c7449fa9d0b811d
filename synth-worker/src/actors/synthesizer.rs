//! One synthesis slot: one thread that runs one task at a time.

use actix::{Actor, Handler, Message, SyncContext};
use proofmill_shared::broker::TokenCheck;
use proofmill_shared::membership::{AttemptJournal, CancelFlag, Ticket};
use proofmill_shared::protocol::{FailureKind, Task, TaskFailure, WorkerEvent};
use proofmill_shared::telemetry::TimelineEvent;
use tokio::runtime::Handle;

use super::InputCache;
use super::tasks::{self, TaskError, TaskScene};
use crate::circuit::CircuitRegistry;

/// Run one task to its end.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct RunTask {
    pub(crate) task: Task,
    pub(crate) journal: AttemptJournal,
    pub(crate) ticket: Ticket,
}

/// Owns its thread; receives [`RunTask`] from the intake; sends events to the coordinator; ends with the worker, after
/// the task in hand. Circuit code is contained within it; any other panic ends the process.
pub(crate) struct Synthesizer {
    registry: CircuitRegistry,
    inputs: InputCache,
    runtime: Handle,
}

impl Synthesizer {
    pub(crate) const fn new(
        registry: CircuitRegistry,
        inputs: InputCache,
        runtime: Handle,
    ) -> Self {
        Self {
            registry,
            inputs,
            runtime,
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
        let cancel = ticket.cancel_flag();
        if !cancel.is_raised() && self.begin(&mut journal, &ticket) {
            let outcome = self.run(&task, &mut journal, &ticket, &cancel);
            self.end(outcome, &mut journal);
        }
        ticket.settle();
    }
}

impl Synthesizer {
    /// Writes the start; false if the attempt ends here.
    fn begin(&self, journal: &mut AttemptJournal, ticket: &Ticket) -> bool {
        let broker = journal.context().emitter.broker().clone();
        match self.runtime.block_on(broker.start(journal.key())) {
            Ok(TokenCheck::Accepted) => {
                ticket.mark_started();
                let now = journal.now();
                journal.note(TimelineEvent::SynthStart, now, &[]);
                journal.emit_aside(WorkerEvent::Started, &self.runtime);
                true
            }
            Ok(TokenCheck::Stale { current }) => {
                tracing::info!(key = ?journal.key(), %current, "task was taken back before its start");
                false
            }
            Err(error) => {
                let reason = format!("start could not be written: {error}");
                let failure =
                    TaskFailure::new(FailureKind::Infrastructure, "broker-failed", reason);
                self.runtime
                    .block_on(journal.emit(WorkerEvent::Failed(failure)));
                false
            }
        }
    }

    fn run(
        &self,
        task: &Task,
        journal: &mut AttemptJournal,
        ticket: &Ticket,
        cancel: &CancelFlag,
    ) -> Result<(), TaskError> {
        let circuit = self.registry.get(task.circuit())?;
        let broker = journal.context().emitter.broker().clone();
        let input = self
            .runtime
            .block_on(self.inputs.get(&broker, task.key().job, circuit))?;
        ticket.advance();
        let scene = TaskScene {
            broker: &broker,
            circuit,
            input: &input,
            runtime: &self.runtime,
            ticket,
            cancel,
        };
        match task {
            Task::Plan(_) => tasks::plan(&scene, journal),
            Task::Synthesize(task) => tasks::synthesize(&scene, task, journal),
            Task::Finish(task) => {
                let outcome = tasks::finish(&scene, task, journal);
                self.inputs.forget(task.key.job);
                outcome
            }
            Task::Prove(_) => Ok(()),
        }
    }

    fn end(&self, outcome: Result<(), TaskError>, journal: &mut AttemptJournal) {
        let key = *journal.key();
        match outcome {
            Ok(()) => {}
            Err(TaskError::Cancelled) => tracing::info!(?key, "task cancelled between two steps"),
            Err(TaskError::Stale) => {
                tracing::info!(?key, "late effect refused: the token is stale")
            }
            Err(error) => {
                let failure = error.failure();
                tracing::warn!(job = %key.job, unit = %key.unit, attempt = key.attempt, code = failure.code, reason = failure.message, "task failed");
                self.runtime
                    .block_on(journal.emit(WorkerEvent::Failed(failure)));
            }
        }
    }
}
