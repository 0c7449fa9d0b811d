//! An attempt comes to nothing: it failed, was given back, or went down with its worker.

use proofmill_shared::protocol::{FailureKind, Stage, TaskFailure, TaskKey, Unit, WorkerId};

use super::event::LossCause;
use super::limits::{MAX_FAILED_ATTEMPTS, MAX_LOST_ATTEMPTS};
use super::record::AttemptRecord;
use super::transition::Change;
use crate::view::JobState;

/// Whether an attempt that came to nothing counts against its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blame {
    /// It started: the unit may be at fault.
    Failed,
    /// Nothing was attempted.
    Lost,
}

impl Change {
    /// The worker says that the attempt failed.
    pub(super) fn failed(&mut self, key: TaskKey, failure: TaskFailure) {
        match (failure.kind, key.stage) {
            (FailureKind::Rejected, _) => {
                self.end_attempt(key.unit, key.stage);
                self.end(JobState::Rejected, Some(failure));
            }
            (FailureKind::BadPayload, Stage::Proving) => self.bad_payload(key, failure),
            (FailureKind::Attempt | FailureKind::BadPayload, _) => {
                if let Some(live) = self.end_attempt(key.unit, key.stage) {
                    self.try_again(key, live, failure, Blame::Failed);
                }
            }
            (FailureKind::Infrastructure, _) => {
                if let Some(live) = self.end_attempt(key.unit, key.stage) {
                    self.try_again(key, live, failure, Blame::Lost);
                }
            }
        }
    }

    /// The worker did not start it and gives it back.
    pub(super) fn released(&mut self, key: TaskKey) {
        let failure = TaskFailure::new(
            FailureKind::Infrastructure,
            "given-back",
            "worker gave the attempt back before it started",
        );
        self.failed(key, failure);
    }

    /// The attempt is gone with its worker, or without it.
    pub(super) fn lose(&mut self, key: TaskKey, cause: LossCause) {
        let Some(live) = self.live(&key) else { return };
        let (kind, blame) = if live.started_at.is_some() {
            (FailureKind::Attempt, Blame::Failed)
        } else {
            (FailureKind::Infrastructure, Blame::Lost)
        };
        let failure = TaskFailure::new(kind, cause.code(), cause.message());
        // A worker that lives is told, so that it does not work for nothing.
        let ended = match cause {
            LossCause::WorkerGone | LossCause::WorkerRestarted => {
                self.end_attempt(key.unit, key.stage)
            }
            LossCause::NotHeld | LossCause::NoProgress => self.take_back(key.unit, key.stage),
        };
        if let Some(live) = ended {
            self.try_again(key, live, failure, blame);
        }
    }

    /// The shipped payload is missing or damaged: the proving attempt is not to blame, synthesis runs again.
    fn bad_payload(&mut self, key: TaskKey, failure: TaskFailure) {
        let Some(proving) = self.end_attempt(key.unit, key.stage) else {
            return;
        };
        let Some(record) = self.job.unit_mut(key.unit) else {
            return;
        };
        let at_fault = |attempt: u32| attempt == proving.payload_attempt;
        match (record.payload.take(), record.synth.live.as_ref()) {
            (Some(payload), _) if at_fault(payload.attempt) => {
                self.drop_payload(key.unit, payload.attempt);
                let worker = Some(payload.worker);
                self.count(key.unit, Stage::Synthesis, &failure, worker, Blame::Failed);
                self.requeue_or_fail(key.unit, Stage::Synthesis, failure);
            }
            (None, Some(live)) if at_fault(live.number) => {
                if let Some(live) = self.take_back(key.unit, Stage::Synthesis) {
                    let synth = live.key(key.job, key.unit, Stage::Synthesis);
                    self.try_again(synth, live, failure, Blame::Failed);
                }
            }
            (payload, _) => {
                // It spoke of a payload that was replaced: what stands now is still to be proved.
                record.payload = payload;
                if record.provable_payload().is_some() {
                    self.enqueue(key.unit, Stage::Proving);
                }
            }
        }
    }

    /// Counts an attempt that was ended, cleans up behind it, and queues the next one or ends the job.
    fn try_again(&mut self, key: TaskKey, live: AttemptRecord, failure: TaskFailure, blame: Blame) {
        if key.stage == Stage::Synthesis {
            // Whoever waits for the chunks of this attempt waits in vain, and is not to blame.
            self.take_back(key.unit, Stage::Proving);
            self.dequeue(key.unit, Stage::Proving);
            self.drop_payload(key.unit, live.number);
        }
        self.count(key.unit, key.stage, &failure, Some(live.worker), blame);
        self.requeue_or_fail(key.unit, key.stage, failure);
    }

    /// As [`Change::try_again`] for an attempt that was taken back already.
    pub(super) fn failed_attempt(
        &mut self,
        key: TaskKey,
        live: AttemptRecord,
        failure: TaskFailure,
    ) {
        self.try_again(key, live, failure, Blame::Failed);
    }

    fn count(
        &mut self,
        unit: Unit,
        stage: Stage,
        failure: &TaskFailure,
        worker: Option<WorkerId>,
        blame: Blame,
    ) {
        let Some(record) = self.job.unit_mut(unit) else {
            return;
        };
        let state = record.stage_mut(stage);
        match blame {
            Blame::Failed => state.failed += 1,
            Blame::Lost => state.lost += 1,
        }
        state.last_failure = Some(failure.clone());
        if worker.is_some() {
            state.last_worker = worker;
        }
        self.changed.insert(unit);
    }

    fn requeue_or_fail(&mut self, unit: Unit, stage: Stage, failure: TaskFailure) {
        let Some(record) = self.job.unit(unit) else {
            return;
        };
        let state = record.stage(stage);
        if state.failed >= MAX_FAILED_ATTEMPTS || state.lost >= MAX_LOST_ATTEMPTS {
            self.give_up(unit, stage, failure);
        } else {
            self.enqueue(unit, stage);
        }
    }
}
