//! New jobs: durable before anybody is told.

use std::sync::Arc;

use actix::{AsyncContext, Handler, Message, MessageResult};
use proofmill_shared::broker::CommitOutcome;
use proofmill_shared::protocol::JobId;
use tokio::sync::oneshot;

use super::durable::{self, LoadedJob};
use super::slot::{Input, JobSlot};
use super::{AcceptJob, JobSupervisor, effects};
use crate::actors::ending::{Alarm, CoordinatorEnd};
use crate::actors::insist::insist;
use crate::actors::site::Site;
use crate::actors::spans;
use crate::handle::{CoordinatorError, Submitted};
use crate::job::{Action, JobRecord, Transition, accept};

/// Version of a job that was just created.
const FIRST_VERSION: u64 = 1;

type Reply = oneshot::Sender<Result<Submitted, CoordinatorError>>;

/// A job is stored, or is not.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Created {
    result: Result<Creation, CoordinatorError>,
    reply: Reply,
}

#[derive(Debug)]
enum Creation {
    /// It is new.
    New(Box<Transition>),
    /// It was there already.
    Found(Box<LoadedJob>),
}

impl Handler<AcceptJob> for JobSupervisor {
    type Result = MessageResult<AcceptJob>;

    fn handle(&mut self, message: AcceptJob, ctx: &mut Self::Context) -> Self::Result {
        if !self.site.is_ready() || self.is_settling {
            return MessageResult(Err(CoordinatorError::Unavailable));
        }
        let (queued, limit) = (
            self.jobs.len() + self.accepting,
            self.site.options.queue_limit,
        );
        if queued >= limit {
            return MessageResult(Err(CoordinatorError::QueueFull { queued, limit }));
        }
        self.accepting += 1;
        self.count_active();
        let (reply, answer) = oneshot::channel();
        let (site, supervisor) = (Arc::clone(&self.site), ctx.address());
        let alarm = Alarm::new(Arc::clone(&self.site), "acceptance of a job");
        actix::spawn(async move {
            let _alarm = alarm;
            let result = create(&site, message.record).await;
            // At most one message a job being accepted, and these count against the queue's limit.
            supervisor.do_send(Created { result, reply });
        });
        MessageResult(Ok(answer))
    }
}

impl Handler<Created> for JobSupervisor {
    type Result = ();

    fn handle(&mut self, message: Created, ctx: &mut Self::Context) {
        self.accepting -= 1;
        let answer = message.result.map(|creation| match creation {
            Creation::New(accepted) => {
                let Transition { job, actions, .. } = *accepted;
                let view = job.view();
                for action in actions {
                    self.book(job.record(), action);
                }
                self.take_in(LoadedJob {
                    job,
                    version: FIRST_VERSION,
                });
                Submitted { view, is_new: true }
            }
            Creation::Found(found) => {
                let view = found.job.view();
                let id = found.job.record().id;
                if !found.job.state().is_terminal() && !self.jobs.contains_key(&id) {
                    self.resume(&found.job);
                    self.take_in(*found);
                    if self.input(id, Input::CheckMarks, ctx).is_some() {
                        tracing::debug!(job = %id, "job is not here");
                    }
                }
                Submitted {
                    view,
                    is_new: false,
                }
            }
        });
        self.count_active();
        self.schedule(ctx);
        if message.reply.send(answer).is_err() {
            tracing::debug!("client is gone, its job goes on");
        }
    }
}

impl JobSupervisor {
    /// Takes a job in whose bookings are made.
    pub(super) fn take_in(&mut self, loaded: LoadedJob) {
        let LoadedJob { job, version } = loaded;
        let (id, deadline) = (job.record().id, job.record().deadline);
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, id));
        }
        let now = self.site.now();
        self.jobs.insert(id, JobSlot::new(job, version, now));
        self.count_active();
    }
}

async fn create(site: &Site, record: JobRecord) -> Result<Creation, CoordinatorError> {
    let (id, root_span) = (record.id, record.root_span.clone());
    let accepted = accept(record);
    let bytes = accepted
        .job
        .record()
        .encode()
        .expect("a record holds only what JSON can hold");
    let created = insist(site, "create job", async || {
        site.broker()
            .create_job(id, site.leader(), bytes.clone())
            .await
    });
    match created.await?.answer {
        CommitOutcome::Committed { .. } => {}
        CommitOutcome::Conflict { .. } => {
            let Some(found) = durable::load(site, id).await? else {
                return Err(CoordinatorError::UnknownJob { job: id });
            };
            // A job of this very call: an earlier try was applied, though its answer was lost.
            let is_ours =
                found.version == FIRST_VERSION && found.job.record().root_span == root_span;
            if !is_ours {
                return Ok(Creation::Found(Box::new(found)));
            }
        }
        CommitOutcome::Deposed { .. } => {
            site.finish(CoordinatorEnd::Deposed);
            return Err(CoordinatorError::Unavailable);
        }
        CommitOutcome::Missing => return Err(CoordinatorError::UnknownJob { job: id }),
    }
    began(site, id, &accepted).await;
    Ok(Creation::New(Box::new(accepted)))
}

async fn began(site: &Site, id: JobId, accepted: &Transition) {
    let record = accepted.job.record();
    tracing::info!(job = %id, circuit = %record.circuit, "job accepted");
    let timeline = accepted.actions.iter().filter_map(|action| match action {
        Action::Record(record) => Some(record.clone()),
        _ => None,
    });
    effects::append_timeline(site, id, timeline.collect()).await;
    effects::perform(site, record, &accepted.actions).await;
    spans::accepted(site, record);
}
