//! A job reaches a terminal state.

use std::collections::BTreeSet;

use proofmill_shared::protocol::{FailureKind, Stage, TaskFailure, Unit};
use proofmill_shared::telemetry::TimelineEvent;

use super::action::Action;
use super::record::DeadLetter;
use super::transition::Change;
use crate::view::JobState;

impl Change {
    /// A client wants it no more.
    pub(super) fn cancel(&mut self) {
        self.end(JobState::Cancelled, None);
    }

    /// Its deadline has passed.
    pub(super) fn expire(&mut self) {
        if self
            .job
            .record
            .deadline
            .is_some_and(|deadline| deadline <= self.now)
        {
            let failure = TaskFailure::new(
                FailureKind::Infrastructure,
                "deadline-passed",
                "deadline passed before the job was done: submit it earlier, or with a later deadline",
            );
            self.end(JobState::Expired, Some(failure));
        }
    }

    /// Attempts of a unit ran out.
    pub(super) fn give_up(&mut self, unit: Unit, stage: Stage, cause: TaskFailure) {
        let Some(record) = self.job.unit(unit) else {
            return;
        };
        let state = record.stage(stage);
        self.actions.push(Action::PutDeadLetter(DeadLetter {
            job: self.job.record.id,
            trace_id: self.job.record.trace_id(),
            circuit: self.job.record.circuit.clone(),
            unit,
            stage,
            cause: cause.clone(),
            attempts: state.attempts,
            last_worker: state.last_worker.clone(),
            at: self.now,
        }));
        self.end(JobState::Failed, Some(cause));
    }

    /// Ends the job: nothing of it is queued, held, accepted or kept in flight any more.
    pub(super) fn end(&mut self, state: JobState, failure: Option<TaskFailure>) {
        let mut holders = BTreeSet::new();
        let units: Vec<Unit> = self.job.units().map(|(unit, _)| unit).collect();
        for unit in units {
            for stage in [Stage::Synthesis, Stage::Proving] {
                let is_queued = self
                    .job
                    .unit(unit)
                    .is_some_and(|record| record.stage(stage).ready_at.is_some());
                if is_queued {
                    // The record stays as it is: an ended job queues nothing, and a job may have very many units.
                    self.actions.push(Action::Dequeue { unit, stage });
                }
                if let Some(live) = self.end_attempt(unit, stage) {
                    holders.insert(live.worker);
                    if stage == Stage::Synthesis {
                        self.drop_payload(unit, live.number);
                    }
                }
            }
            self.forget_payload(unit);
        }
        self.actions.extend(
            holders
                .into_iter()
                .map(|worker| Action::CancelOn { worker }),
        );
        let record = &mut self.job.record;
        record.state = state;
        record.ended_at = Some(self.now);
        record.failure = failure;
        self.is_changed = true;
        self.record(
            TimelineEvent::JobDone,
            None,
            0,
            None,
            [("state", state_name(state).to_owned())],
        );
    }

    /// Removes a unit's shipped payload, if it has one.
    pub(super) fn forget_payload(&mut self, unit: Unit) {
        if let Some(payload) = self.job.unit_mut(unit).and_then(|unit| unit.payload.take()) {
            self.changed.insert(unit);
            self.drop_payload(unit, payload.attempt);
        }
    }
}

/// A state as the timeline spells it.
const fn state_name(state: JobState) -> &'static str {
    match state {
        JobState::Accepted => "accepted",
        JobState::Planning => "planning",
        JobState::Running => "running",
        JobState::Finishing => "finishing",
        JobState::Succeeded => "succeeded",
        JobState::Failed => "failed",
        JobState::Rejected => "rejected",
        JobState::Cancelled => "cancelled",
        JobState::Expired => "expired",
    }
}
