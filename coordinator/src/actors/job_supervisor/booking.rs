//! Steps under way, and what a durable step asks of the scheduler.

use std::sync::Arc;

use actix::{AsyncContext, Context, Handler, Message};
use proofmill_shared::broker::PayloadKey;
use proofmill_shared::protocol::{Digest, JobId};

use super::advance::{Moved, Outcome, Work, advance};
use super::slot::{Input, JobSlot, Rest};
use super::{JobEvent, JobSupervisor, STEPS_AT_A_TIME};
use crate::actors::ending::Alarm;
use crate::handle::{CoordinatorError, JobChange};
use crate::job::{Action, Job, JobRecord};
use crate::scheduler::{ReadyUnit, UnitStage, Urgency};

/// Wait before a job that cannot be written is tried again.
const STUCK_RETRY: std::time::Duration = std::time::Duration::from_secs(5);

/// A step is over.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Stepped {
    job: JobId,
    outcome: Outcome,
}

/// A job that could not be written is to be tried again.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct TryAgainDue {
    job: JobId,
}

impl JobSupervisor {
    /// Lets a job take its next step, now or when there is a place.
    pub(super) fn nudge(&mut self, job: JobId, ctx: &mut Context<Self>) {
        let Some(slot) = self.jobs.get_mut(&job) else {
            return;
        };
        if slot.inbox.is_empty() || matches!(slot.rest, Rest::Away) || slot.is_runnable {
            return;
        }
        slot.is_runnable = true;
        self.runnable.push_back(job);
        self.take_steps(ctx);
    }

    fn take_steps(&mut self, ctx: &mut Context<Self>) {
        while *self.steps.borrow() < STEPS_AT_A_TIME && !self.is_settling {
            let Some(id) = self.runnable.pop_front() else {
                return;
            };
            let Some(slot) = self.jobs.get_mut(&id) else {
                continue;
            };
            slot.is_runnable = false;
            let known = match std::mem::replace(&mut slot.rest, Rest::Away) {
                Rest::Here(job, version) => Some((*job, version)),
                Rest::Unread => None,
                Rest::Away => continue,
            };
            let work = Work {
                id,
                known,
                batch: slot.inbox.drain(..).collect(),
            };
            self.steps.send_modify(|steps| *steps += 1);
            let (site, acks, supervisor) =
                (Arc::clone(&self.site), self.acks.clone(), ctx.address());
            let alarm = Alarm::new(Arc::clone(&self.site), "step of a job");
            actix::spawn(async move {
                let _alarm = alarm;
                let outcome = advance(&site, &acks, work).await;
                // At most one message a step under way: bounded without the mailbox.
                supervisor.do_send(Stepped { job: id, outcome });
            });
        }
    }

    /// Assigns whatever can be assigned now.
    pub(super) fn schedule(&mut self, ctx: &mut Context<Self>) {
        if !self.site.is_ready() || self.is_settling {
            return;
        }
        let now = self.site.now();
        while let Some(assignment) = self.scheduler.next_assignment(now) {
            let UnitStage { job, unit, stage } = assignment.what;
            let to = assignment.to;
            let event = JobEvent::Assigned { unit, stage, to };
            if self.input(job, Input::Event(event), ctx).is_some() {
                tracing::error!(%job, "a unit of no job was queued, taken out");
                self.scheduler.refuse(&assignment.what);
            }
        }
    }

    fn moved(&mut self, moved: Moved) {
        let Moved {
            job,
            version,
            actions,
            is_resynced,
            ..
        } = moved;
        let id = job.record().id;
        let is_announced = actions.contains(&Action::Announce) || is_resynced;
        if is_resynced {
            self.scheduler.forget(id);
            self.resume(&job);
        } else {
            for action in actions {
                self.book(job.record(), action);
            }
        }
        if is_announced && self.site.changes.receiver_count() > 0 {
            let view = Arc::new(job.view());
            let change = JobChange { job: id, view };
            if self.site.changes.send(change).is_err() {
                tracing::trace!("nobody watches any more");
            }
        }
        if job.state().is_terminal() {
            self.bury(&job);
        } else if let Some(slot) = self.jobs.get_mut(&id) {
            slot.rest = Rest::Here(Box::new(job), version);
        }
    }

    /// Books what a job that was read holds and waits for.
    pub(super) fn resume(&mut self, job: &Job) {
        let resumed = job.resume();
        let (now, shape) = (self.site.now(), shape(job.record()));
        for held in resumed.held {
            let what = UnitStage {
                job: job.record().id,
                unit: held.key.unit,
                stage: held.key.stage,
            };
            self.scheduler.hold(what, held.by, shape, now);
        }
        for action in resumed.actions {
            self.book(job.record(), action);
        }
    }

    pub(super) fn book(&mut self, record: &JobRecord, action: Action) {
        let (job, now, shape) = (record.id, self.site.now(), shape(record));
        match action {
            Action::Enqueue {
                unit,
                stage,
                not_before,
                avoid,
            } => {
                let ready = ReadyUnit {
                    what: UnitStage { job, unit, stage },
                    urgency: urgency(record),
                    circuit: record.circuit.clone(),
                    shape,
                    avoid,
                    not_before,
                };
                self.scheduler.enqueue(ready, now);
            }
            Action::Dequeue { unit, stage } => {
                self.scheduler.dequeue(&UnitStage { job, unit, stage });
            }
            Action::Release { unit, stage } => {
                let what = UnitStage { job, unit, stage };
                self.scheduler.release(&what);
                self.liveness.forget(&what);
            }
            Action::Refuse { unit, stage } => {
                self.scheduler.refuse(&UnitStage { job, unit, stage });
            }
            Action::PayloadShipped {
                partition,
                bytes,
                took,
            } => self.scheduler.shipped(job, partition, shape, bytes, took),
            Action::ProvingBegan { partition } => self.scheduler.proving_began(job, partition),
            Action::ProofStored { by, .. } => {
                let by = by.as_ref().map(|(worker, took)| (worker, *took));
                self.scheduler.proved(shape, by, now);
            }
            Action::DropPayload {
                payload: PayloadKey { partition, .. },
            } => self.scheduler.payload_gone(job, partition),
            Action::Post { .. }
            | Action::TakeBack { .. }
            | Action::CancelOn { .. }
            | Action::PutDeadLetter(_)
            | Action::Record(_)
            | Action::Waited { .. }
            | Action::Announce => {}
        }
    }

    /// Lets go of a job that has ended: from here on it is read from the broker.
    fn bury(&mut self, job: &Job) {
        let record = job.record();
        tracing::info!(job = %record.id, state = ?record.state, "job ended");
        let Some(slot) = self.remove(record.id) else {
            return;
        };
        for waiter in slot.waiters {
            if waiter.send(job.view()).is_err() {
                tracing::trace!("nobody waits for the end any more");
            }
        }
        for input in slot.inbox {
            match input {
                Input::Report(read) => self.acks.hand_in(read.delivery),
                Input::Event(JobEvent::Assigned { unit, stage, .. }) => {
                    let job = record.id;
                    self.scheduler.refuse(&UnitStage { job, unit, stage });
                }
                Input::Describe(reply) => drop(reply.send(job.view())),
                Input::Cancel(reply) => drop(reply.send(Err(CoordinatorError::WrongState {
                    job: record.id,
                    state: record.state,
                    needs: "only a job that has not ended can be cancelled",
                }))),
                Input::Event(_) | Input::Lost { .. } | Input::CheckMarks | Input::Reload => {}
            }
        }
    }

    /// Lets go of a job that the broker lost.
    fn lose(&mut self, job: JobId) {
        self.scheduler.forget(job);
        let Some(slot) = self.remove(job) else { return };
        for input in slot.inbox {
            if let Input::Report(read) = input {
                self.acks.hand_in(read.delivery);
            }
        }
    }

    fn remove(&mut self, job: JobId) -> Option<JobSlot> {
        let slot = self.jobs.remove(&job)?;
        if let Some(deadline) = slot.deadline {
            self.deadlines.remove(&(deadline, job));
        }
        self.count_active();
        Some(slot)
    }

    pub(super) fn count_active(&self) {
        self.site.set_active(self.jobs.len() + self.accepting);
    }
}

impl Handler<Stepped> for JobSupervisor {
    type Result = ();

    fn handle(&mut self, message: Stepped, ctx: &mut Self::Context) {
        let Stepped { job: id, outcome } = message;
        self.steps.send_modify(|steps| *steps -= 1);
        match outcome {
            Outcome::Moved(moved) => self.moved(*moved),
            Outcome::Missing => self.lose(id),
            Outcome::Stuck { batch } => {
                if let Some(slot) = self.jobs.get_mut(&id) {
                    for input in batch.into_iter().rev() {
                        slot.inbox.push_front(input);
                    }
                    ctx.notify_later(TryAgainDue { job: id }, STUCK_RETRY);
                }
            }
        }
        self.nudge(id, ctx);
        self.take_steps(ctx);
        self.schedule(ctx);
    }
}

impl Handler<TryAgainDue> for JobSupervisor {
    type Result = ();

    fn handle(&mut self, message: TryAgainDue, ctx: &mut Self::Context) {
        if let Some(slot) = self.jobs.get_mut(&message.job) {
            slot.rest = Rest::Unread;
            self.nudge(message.job, ctx);
        }
    }
}

fn shape(record: &JobRecord) -> Option<Digest> {
    record.plan.as_ref().map(|plan| plan.shape)
}

fn urgency(record: &JobRecord) -> Urgency {
    Urgency {
        priority: record.priority,
        deadline: record.deadline,
        submitted_at: record.submitted_at,
    }
}
