//! What is looked after again and again: deadlines, backoffs, losses, and jobs of which nothing is heard.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::Context;
use proofmill_shared::protocol::{JobId, WorkerId, WorkerRecord};

use super::slot::Input;
use super::{JobEvent, JobSupervisor, RosterSeen};
use crate::job::{LossCause, WorkerLife};
use crate::scheduler::UnitStage;

/// Time between two rounds: a deadline or a backoff is kept to within this.
pub(super) const ROUND_EVERY: Duration = Duration::from_millis(100);

/// Time between two reconciliations, and the silence after which a job is looked at.
const RECONCILE_EVERY: Duration = Duration::from_secs(5);

/// Jobs looked at in one reconciliation: those silent longest come first, the others next time.
const RECONCILED_AT_A_TIME: usize = 64;

impl JobSupervisor {
    pub(super) fn make_round(&mut self, ctx: &mut Context<Self>) {
        if !self.site.is_ready() {
            return;
        }
        let now = self.site.now();
        while let Some((deadline, job)) = self.deadlines.first().copied() {
            if deadline > now {
                break;
            }
            self.deadlines.pop_first();
            self.tell(job, Input::Event(JobEvent::DeadlinePassed), ctx);
        }
        if now.since(self.reconciled_at) >= RECONCILE_EVERY {
            self.reconciled_at = now;
            self.reconcile(ctx);
        }
        if self.scheduler.next_wake().is_some_and(|wake| wake <= now) {
            self.schedule(ctx);
        }
    }

    /// Looks at the marks of jobs that should be moving and were not heard of for a while: a lost event is found here.
    fn reconcile(&mut self, ctx: &mut Context<Self>) {
        let now = self.site.now();
        let mut silent: Vec<_> = self
            .jobs
            .iter()
            .filter(|(_, slot)| now.since(slot.touched_at) >= RECONCILE_EVERY)
            .filter(|(_, slot)| {
                slot.settled()
                    .is_some_and(|job| job.live_attempts().next().is_some())
            })
            .map(|(id, slot)| (slot.touched_at, *id))
            .collect();
        silent.sort_unstable();
        for (_, job) in silent.into_iter().take(RECONCILED_AT_A_TIME) {
            self.tell(job, Input::CheckMarks, ctx);
        }
    }

    pub(super) fn see_roster(&mut self, seen: RosterSeen, ctx: &mut Context<Self>) {
        let live: BTreeMap<WorkerId, Arc<WorkerRecord>> = seen
            .live
            .into_iter()
            .map(|record| (record.id.clone(), record))
            .collect();
        let is_needed = live.values().any(|record| record.needs_evaluations);
        self.site.set_needs_evaluations(is_needed);
        for lost in seen.lost {
            if !live.contains_key(&lost.life.worker) {
                self.scheduler.worker_gone(&lost.life.worker);
            }
            self.life_is_over(&lost.life, lost.cause, ctx);
        }
        for record in live.into_values() {
            self.look_at(&record, ctx);
            self.scheduler.worker_seen(record);
        }
        self.schedule(ctx);
    }

    fn life_is_over(&mut self, life: &WorkerLife, cause: LossCause, ctx: &mut Context<Self>) {
        let held: Vec<UnitStage> = self
            .scheduler
            .held_by(&life.worker)
            .filter(|(_, hold)| hold.incarnation == life.incarnation)
            .map(|(what, _)| *what)
            .collect();
        for what in held {
            let by = life.clone();
            self.tell(what.job, Input::Lost { what, by, cause }, ctx);
        }
    }

    /// Compares what a worker holds with what it was given.
    fn look_at(&mut self, record: &WorkerRecord, ctx: &mut Context<Self>) {
        let now = self.site.now();
        let mut findings = Vec::new();
        for (what, hold) in self.scheduler.held_by(&record.id) {
            if let Some(cause) = self.liveness.finding(record, what, hold, now) {
                findings.push((*what, cause));
            }
        }
        for (what, cause) in findings {
            let by = WorkerLife {
                worker: record.id.clone(),
                incarnation: record.incarnation,
            };
            self.tell(what.job, Input::Lost { what, by, cause }, ctx);
        }
    }

    fn tell(&mut self, job: JobId, input: Input, ctx: &mut Context<Self>) {
        if self.input(job, input, ctx).is_some() {
            tracing::debug!(%job, "job is not here any more");
        }
    }
}
