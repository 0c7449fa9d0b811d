//! Owns every job that has not ended, and the scheduler; alone changes job state.
//!
//! Receives what workers report, who is there, what clients ask, and its own timer. Sends tasks and orders to workers
//! through the broker, views to whoever watches. Ends with the coordinator.
//!
//! *Layout*: `messages`, `slot` (a job in its hands), `advance` (one step of one job), `durable` (jobs to and from the
//! broker), `effects` (what a durable step asks of the broker), `booking` (what it asks of the scheduler), `accepting`
//! (new jobs), `recovery` (jobs that were there before), `rounds` (deadlines, losses, reconciliation), `liveness`.
//!
//! **Invariant**: the steps of one job follow each other; a step's effects begin after its commit is durable.

mod accepting;
mod advance;
mod booking;
pub(crate) mod durable;
mod effects;
mod liveness;
mod messages;
mod recovery;
mod rounds;
mod slot;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Addr, AsyncContext, Context, Handler, MessageResult, ResponseFuture};
use proofmill_shared::protocol::{JobId, UnixMicros};
use tokio::sync::{oneshot, watch};

use self::liveness::Liveness;
#[cfg(test)]
pub(crate) use self::messages::testing;
pub(crate) use self::messages::{
    AcceptJob, AwaitEnd, CancelJob, CircuitsSeen, DescribeJob, DescribeWorkers, Lead, Reports,
    RosterSeen, Settle,
};
use self::slot::{Input, JobSlot};
use super::ending::Alarm;
use super::event_reader::{Acks, EventReader};
use super::site::Site;
use super::worker_registry::WorkerRegistry;
use crate::job::JobEvent;
use crate::scheduler::{FlowLimits, Scheduler};
use crate::view::WorkerView;

/// Messages waiting: clients and the event reader wait for room beyond it.
const MAILBOX: usize = 256;

/// Jobs being advanced at a time: enough to hide the broker's round trips, few enough that each is quick.
const STEPS_AT_A_TIME: usize = 128;

/// Longest wait for the steps under way when the coordinator stops; what is cut off is found by the next one.
const SETTLE_LIMIT: Duration = Duration::from_secs(3);

/// See the module.
#[derive(Debug)]
pub(crate) struct JobSupervisor {
    site: Arc<Site>,
    acks: Acks,
    jobs: HashMap<JobId, JobSlot>,
    scheduler: Scheduler,
    liveness: Liveness,
    deadlines: BTreeSet<(UnixMicros, JobId)>,
    /// Jobs with something to do that wait for a place among the steps under way.
    runnable: VecDeque<JobId>,
    steps: watch::Sender<usize>,
    /// Jobs being created.
    accepting: usize,
    reconciled_at: UnixMicros,
    is_settling: bool,
    reader: Option<Addr<EventReader>>,
    registry: Option<Addr<WorkerRegistry>>,
    _alarm: Alarm,
}

impl JobSupervisor {
    pub(super) fn new(site: Arc<Site>, acks: Acks) -> Self {
        let options = &site.options;
        let limits = FlowLimits {
            lookahead: options.lookahead,
            payload_bytes: options.payload_budget_bytes,
        };
        Self {
            scheduler: Scheduler::new(limits),
            liveness: Liveness::new(options.stall_limit),
            reconciled_at: site.now(),
            _alarm: Alarm::new(Arc::clone(&site), "job supervisor"),
            site,
            acks,
            jobs: HashMap::new(),
            deadlines: BTreeSet::new(),
            runnable: VecDeque::new(),
            steps: watch::channel(0).0,
            accepting: 0,
            is_settling: false,
            reader: None,
            registry: None,
        }
    }

    /// Adds an input to a job and gets it moving; hands the input back if the job is not here.
    #[must_use]
    fn input(&mut self, job: JobId, input: Input, ctx: &mut Context<Self>) -> Option<Input> {
        let Some(slot) = self.jobs.get_mut(&job) else {
            return Some(input);
        };
        slot.inbox.push_back(input);
        slot.touched_at = self.site.now();
        self.nudge(job, ctx);
        None
    }
}

/// Tells the supervisor of the actors that wait for it to lead.
#[derive(Debug, actix::Message)]
#[rtype(result = "()")]
pub(super) struct Meet {
    pub(super) reader: Addr<EventReader>,
    pub(super) registry: Addr<WorkerRegistry>,
}

impl Actor for JobSupervisor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(rounds::ROUND_EVERY, Self::make_round);
    }
}

impl Handler<Meet> for JobSupervisor {
    type Result = ();

    fn handle(&mut self, message: Meet, _: &mut Self::Context) {
        self.reader = Some(message.reader);
        self.registry = Some(message.registry);
    }
}

impl Handler<Reports> for JobSupervisor {
    type Result = ();

    fn handle(&mut self, message: Reports, ctx: &mut Self::Context) {
        for delivery in message.unreadable {
            self.acks.hand_in(delivery);
        }
        for event in message.events {
            let job = event.message.key.job;
            if let Some(Input::Report(event)) = self.input(job, Input::Report(event), ctx) {
                tracing::debug!(%job, "event of a job that has ended, dropped");
                self.acks.hand_in(event.delivery);
            }
        }
    }
}

impl Handler<RosterSeen> for JobSupervisor {
    type Result = ();

    fn handle(&mut self, message: RosterSeen, ctx: &mut Self::Context) {
        self.see_roster(message, ctx);
    }
}

impl Handler<CircuitsSeen> for JobSupervisor {
    type Result = ();

    fn handle(&mut self, message: CircuitsSeen, _: &mut Self::Context) {
        /// Bytes of a scalar at full width.
        const SCALAR_BYTES: u64 = 32;
        for circuit in message.circuits {
            // With evaluations, as a synth worker may send them.
            let variables = circuit.num_inputs.saturating_add(circuit.num_aux);
            let scalars = variables.saturating_add(circuit.num_constraints.saturating_mul(2));
            self.scheduler
                .shape_known(circuit.shape, scalars.saturating_mul(SCALAR_BYTES));
        }
    }
}

impl Handler<DescribeJob> for JobSupervisor {
    type Result = MessageResult<DescribeJob>;

    fn handle(&mut self, message: DescribeJob, ctx: &mut Self::Context) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        let settled = self.jobs.get(&message.job).and_then(JobSlot::settled);
        if let Some(job) = settled {
            if reply.send(job.view()).is_err() {
                tracing::trace!("nobody waits for the job any more");
            }
            return MessageResult(Some(answer));
        }
        let is_here = self
            .input(message.job, Input::Describe(reply), ctx)
            .is_none();
        MessageResult(is_here.then_some(answer))
    }
}

impl Handler<AwaitEnd> for JobSupervisor {
    type Result = MessageResult<AwaitEnd>;

    fn handle(&mut self, message: AwaitEnd, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.jobs.get_mut(&message.job).map(|slot| {
            let (waiter, ended) = oneshot::channel();
            slot.waiters.retain(|waiter| !waiter.is_closed());
            slot.waiters.push(waiter);
            ended
        }))
    }
}

impl Handler<CancelJob> for JobSupervisor {
    type Result = MessageResult<CancelJob>;

    fn handle(&mut self, message: CancelJob, ctx: &mut Self::Context) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        let is_here = self.input(message.job, Input::Cancel(reply), ctx).is_none();
        MessageResult(is_here.then_some(answer))
    }
}

impl Handler<DescribeWorkers> for JobSupervisor {
    type Result = MessageResult<DescribeWorkers>;

    fn handle(&mut self, _: DescribeWorkers, _: &mut Self::Context) -> Self::Result {
        let view = |record: &Arc<proofmill_shared::protocol::WorkerRecord>| WorkerView {
            record: record.as_ref().clone(),
            assigned: u32::try_from(self.scheduler.held_by(&record.id).count()).unwrap_or(u32::MAX),
        };
        MessageResult(self.scheduler.workers().map(view).collect())
    }
}

impl Handler<Settle> for JobSupervisor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Settle, _: &mut Self::Context) -> Self::Result {
        self.is_settling = true;
        let mut steps = self.steps.subscribe();
        Box::pin(async move {
            let settled = steps.wait_for(|steps| *steps == 0);
            if tokio::time::timeout(SETTLE_LIMIT, settled).await.is_err() {
                tracing::warn!("jobs are still being written, the next coordinator finds them");
            }
        })
    }
}

#[cfg(test)]
impl Handler<testing::DescribeBooks> for JobSupervisor {
    type Result = testing::Books;

    fn handle(&mut self, _: testing::DescribeBooks, _: &mut Self::Context) -> Self::Result {
        testing::Books {
            jobs: self.jobs.len(),
            queued: self.scheduler.queued(),
            credits: self.scheduler.credits_out(),
            in_flight: self.scheduler.in_flight(),
        }
    }
}

#[cfg(test)]
impl Handler<testing::PanicNow> for JobSupervisor {
    type Result = ();

    fn handle(&mut self, _: testing::PanicNow, _: &mut Self::Context) {
        panic!("a test asked for it");
    }
}
