//! Fetches and decodes assignments while the device proves the one before.

use std::sync::Arc;

use actix::{Actor, ActorContext, Addr, AsyncContext, Context, StreamHandler};
use futures::stream;
use proofmill_shared::assignment::{
    AssignmentFacts, AssignmentFetcher, FetchReport, FetchedAssignment,
};
use proofmill_shared::membership::{Assigned, AttemptJournal, JournalContext, Membership};
use proofmill_shared::protocol::{FailureKind, Task, TaskFailure, UnixMicros, WorkerEvent};
use proofmill_shared::telemetry::spans::attributes::{self, MessagingOperation};
use proofmill_shared::telemetry::spans::names;
use proofmill_shared::telemetry::{RemoteContext, SpanId, TimelineEvent, fields};
use tokio::sync::mpsc;

use super::{Attempt, DeviceOwner, ProveAssignment};
use crate::device::{Device, DeviceCircuit};

/// Receives assigned tasks from the inbox; sends [`ProveAssignment`] to the device owner; ends when the inbox does.
/// Fetches run side by side, as many as the coordinator's credits allow.
pub(crate) struct AssignmentIntake {
    way: Way,
}

/// What an assignment passes on its way to the device.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) membership: Membership,
    pub(crate) journal: Arc<JournalContext>,
    pub(crate) fetcher: AssignmentFetcher,
    pub(crate) device: Arc<Device>,
    pub(crate) owner: Addr<DeviceOwner>,
}

impl AssignmentIntake {
    pub(crate) fn start_on(way: Way, tasks: mpsc::Receiver<Assigned>) -> Addr<Self> {
        Self::create(|context| {
            let tasks = stream::unfold(tasks, |mut tasks| async {
                tasks.recv().await.map(|task| (task, tasks))
            });
            context.add_stream(tasks);
            Self { way }
        })
    }
}

impl Actor for AssignmentIntake {
    type Context = Context<Self>;
}

impl StreamHandler<Assigned> for AssignmentIntake {
    fn handle(&mut self, assigned: Assigned, _context: &mut Self::Context) {
        let Assigned {
            task,
            trace,
            ticket,
        } = assigned;
        let mut journal = AttemptJournal::open(
            Arc::clone(&self.way.journal),
            *task.key(),
            task.circuit().clone(),
            trace,
        );
        let Task::Prove(task) = task else {
            let reason = "GPU workers run no circuit code";
            let failure = TaskFailure::new(FailureKind::Infrastructure, "wrong-role", reason);
            drop(actix::spawn(async move {
                journal.emit(WorkerEvent::Failed(failure)).await;
                ticket.settle();
            }));
            return;
        };
        let attempt = Attempt {
            task,
            ticket,
            journal,
        };
        // Not tied to this actor: a fetch under way outlives the inbox, and drain waits for its ticket.
        drop(actix::spawn(bring_in(attempt, self.way.clone())));
    }

    fn finished(&mut self, context: &mut Self::Context) {
        context.stop();
    }
}

/// Everything a proof needs on this host: shape, key, assignment.
async fn bring_in(mut attempt: Attempt, way: Way) {
    let picked_up = attempt.journal.now();
    attempt
        .journal
        .note(TimelineEvent::GpuPickup, picked_up, &[]);
    let shape = attempt.task.shape;
    let device = Arc::clone(&way.device);
    let loading = tokio::task::spawn_blocking(move || device.load(&shape)).await;
    let circuit = match loading {
        Ok(Ok(circuit)) => circuit,
        Ok(Err(error)) => {
            attempt.fail(error.failure()).await;
            return;
        }
        Err(error) => {
            let reason = format!("loading the key did not end: {error}");
            attempt
                .fail(TaskFailure::new(
                    FailureKind::Attempt,
                    "key-not-loaded",
                    reason,
                ))
                .await;
            return;
        }
    };
    let loaded = attempt.journal.now();
    let key_load = circuit.load_time.map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    });
    way.membership
        .update(|record| record.warm = way.device.warm());
    let fetched = fetch(&attempt, &way.fetcher, &circuit).await;
    let ended = attempt.journal.now();
    match fetched {
        Ok(fetched) => {
            let report = &fetched.report;
            let facts = [
                (fields::BYTES, report.sizes.bytes),
                (fields::CHUNKS, u64::from(report.sizes.chunks)),
                (fields::KEY_LOAD_MS, key_load),
            ];
            attempt.journal.note(TimelineEvent::FetchEnd, ended, &facts);
            record_fetch(&attempt, loaded, ended, report);
            let message = ProveAssignment {
                attempt,
                assignment: fetched.assignment,
                share: fetched.share,
                fetcher: way.fetcher.clone(),
                fetched: ended,
            };
            if let Err(refused) = way.owner.try_send(message) {
                refused.into_inner().attempt.release().await;
            }
        }
        Err(None) => attempt.abandon("taken back while it was fetched"),
        Err(Some(failure)) => attempt.fail(failure).await,
    }
}

/// Fetches the assignment; `Err(None)` if it is no longer wanted.
async fn fetch(
    attempt: &Attempt,
    fetcher: &AssignmentFetcher,
    circuit: &DeviceCircuit,
) -> Result<FetchedAssignment, Option<TaskFailure>> {
    let facts = AssignmentFacts {
        key: attempt.payload(),
        shape: attempt.task.shape,
        num_inputs: circuit.num_inputs,
        num_aux: circuit.num_aux,
        num_constraints: circuit.num_constraints,
    };
    let cancel = attempt.ticket.cancel_flag();
    let fetched = fetcher.fetch(facts, None, move || cancel.is_raised()).await;
    fetched.map_err(|error| {
        let is_cancelled = attempt.ticket.cancel_flag().is_raised();
        (!is_cancelled).then(|| error.failure())
    })
}

fn record_fetch(attempt: &Attempt, started: UnixMicros, ended: UnixMicros, report: &FetchReport) {
    let payload = attempt.payload();
    let sender = RemoteContext::of_job(payload.job, SpanId::of_handoff(&payload));
    let sizes = &report.sizes;
    let seconds = ended.since(started).as_secs_f64().max(1e-6);
    let system = attempt.journal.context().messaging_system;
    let span = attempt
        .journal
        .span(names::HANDOFF_FETCH, started, ended)
        .link(Some(sender))
        .messaging(
            system,
            "assignment",
            MessagingOperation::Receive,
            Some(sizes.bytes),
        )
        .payload(sizes)
        .attribute(attributes::MB_PER_S, sizes.bytes as f64 / 1e6 / seconds);
    attempt.journal.record(span);
}
