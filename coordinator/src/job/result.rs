//! The result of a unit is in the broker.

use proofmill_shared::protocol::{
    FailureKind, FencingToken, Plan, Stage, TaskFailure, TaskKey, Unit,
};

use super::action::Action;
use super::event::StoredResult;
use super::limits::MAX_PARTITIONS;
use super::record::{StageRecord, UnitRecord};
use super::transition::Change;
use crate::view::JobState;

/// Code of a rejection because the result differs from what the client stated.
pub(super) const EXPECTATION_MISMATCH: &str = "expectation-mismatch";

impl Change {
    /// Takes a unit's result in, once.
    pub(super) fn store(&mut self, unit: Unit, token: Option<FencingToken>, result: StoredResult) {
        let Some(record) = self.job.unit(unit) else {
            return;
        };
        if record.is_done || !self.is_due(unit) {
            return;
        }
        if let Some(key) = self.key_of(unit, Stage::Synthesis, token) {
            self.started(key, None);
        }
        match (unit, result) {
            (Unit::Plan, StoredResult::Plan(plan)) => {
                self.complete(unit, token);
                self.planned(plan);
            }
            (Unit::Partition(partition), StoredResult::Proof) => {
                self.proved(unit, token, partition);
            }
            (Unit::Finish, StoredResult::Output { mismatch }) => {
                self.complete(unit, token);
                match mismatch {
                    None => self.end(JobState::Succeeded, None),
                    Some(what) => self.end(
                        JobState::Rejected,
                        Some(TaskFailure::new(
                            FailureKind::Rejected,
                            EXPECTATION_MISMATCH,
                            what,
                        )),
                    ),
                }
            }
            (_, StoredResult::Unreadable { reason }) => self.unreadable(unit, &reason),
            // A result of another kind than its unit's cannot be read as one.
            (_, StoredResult::Plan(_) | StoredResult::Proof | StoredResult::Output { .. }) => {}
        }
    }

    /// The live attempt of a stage, if it has this token.
    fn key_of(&self, unit: Unit, stage: Stage, token: Option<FencingToken>) -> Option<TaskKey> {
        let live = self.job.unit(unit)?.stage(stage).live.as_ref()?;
        (Some(live.token) == token).then(|| live.key(self.job.record.id, unit, stage))
    }

    /// True if the job has come to this unit.
    fn is_due(&self, unit: Unit) -> bool {
        match unit {
            Unit::Plan => true,
            Unit::Partition(_) => self.job.state() == JobState::Running,
            Unit::Finish => self.job.state() == JobState::Finishing,
        }
    }

    fn planned(&mut self, plan: Plan) {
        if plan.partition_count == 0 || plan.partition_count > MAX_PARTITIONS {
            let failure = TaskFailure::new(
                FailureKind::Rejected,
                "partition-count",
                format!(
                    "input splits into {} partitions, 1 to {MAX_PARTITIONS} are possible: give a smaller input",
                    plan.partition_count
                ),
            );
            self.end(JobState::Rejected, Some(failure));
            return;
        }
        let waiting = UnitRecord {
            synth: StageRecord {
                ready_at: Some(self.now),
                ..StageRecord::default()
            },
            ..UnitRecord::default()
        };
        self.job.partitions = vec![waiting; plan.partition_count as usize];
        // Not marked as changed: a unit that was never written is read back as exactly this.
        for partition in 0..plan.partition_count {
            self.actions.push(Action::Enqueue {
                unit: Unit::Partition(partition),
                stage: Stage::Synthesis,
                not_before: self.now,
                avoid: None,
            });
        }
        self.job.record.planned_at = self.now;
        self.job.record.plan = Some(plan);
        self.job.record.state = JobState::Running;
    }

    fn proved(&mut self, unit: Unit, token: Option<FencingToken>, partition: u32) {
        let now = self.now;
        if let Some(key) = self.key_of(unit, Stage::Proving, token) {
            self.started(key, None);
        }
        let by = self.job.unit(unit).and_then(|record| {
            let live = record.prove.live.as_ref()?;
            (Some(live.token) == token).then_some(())?;
            Some((live.worker.clone(), now.since(live.started_at?)))
        });
        self.complete(unit, token);
        self.job.proved += 1;
        self.actions.push(Action::ProofStored { partition, by });
        if self.job.proved == self.job.partitions.len() {
            self.job.record.proved_at = now;
            self.job.record.state = JobState::Finishing;
            self.enqueue(Unit::Finish, Stage::Synthesis);
        }
    }

    /// Marks a unit as done: nothing of it is queued, held or kept any more. The attempt that brought the result has
    /// ended by itself; any other one is taken back.
    fn complete(&mut self, unit: Unit, token: Option<FencingToken>) {
        self.changed.insert(unit);
        for stage in [Stage::Synthesis, Stage::Proving] {
            self.dequeue(unit, stage);
            let live = self.job.unit(unit).and_then(|record| {
                let live = record.stage(stage).live.as_ref()?;
                Some((live.number, Some(live.token) == token))
            });
            match live {
                Some((_, true)) => {
                    self.end_attempt(unit, stage);
                }
                Some((number, false)) => {
                    self.take_back(unit, stage);
                    if stage == Stage::Synthesis {
                        self.drop_payload(unit, number);
                    }
                }
                None => {}
            }
        }
        self.forget_payload(unit);
        if let Some(record) = self.job.unit_mut(unit) {
            record.is_done = true;
        }
    }

    /// A result is stored once and cannot be replaced: one that does not read ends the job.
    fn unreadable(&mut self, unit: Unit, reason: &str) {
        let stage = match unit {
            Unit::Partition(_) => Stage::Proving,
            Unit::Plan | Unit::Finish => Stage::Synthesis,
        };
        let failure = TaskFailure::new(
            FailureKind::Attempt,
            "result-unreadable",
            format!(
                "stored result of {unit} does not read ({reason}): workers and coordinator differ in version"
            ),
        );
        self.give_up(unit, stage, failure);
    }
}
