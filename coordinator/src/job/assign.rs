//! A unit gets a worker.

use proofmill_shared::protocol::{
    FinishTask, PlanTask, ProveTask, Stage, SynthTask, Task, TaskKey, Unit,
};
use proofmill_shared::telemetry::TimelineEvent;

use super::action::Action;
use super::event::WorkerLife;
use super::record::AttemptRecord;
use super::transition::Change;
use crate::view::JobState;

impl Change {
    /// Grants the next attempt of a stage to a worker, if the stage is ready for one.
    pub(super) fn assign(&mut self, unit: Unit, stage: Stage, to: WorkerLife) {
        let Some(attempt) = self.grant(unit, stage, to) else {
            self.actions.push(Action::Refuse { unit, stage });
            return;
        };
        let key = attempt.key(self.job.record.id, unit, stage);
        let Some(task) = self.task(key, attempt.payload_attempt) else {
            return;
        };
        if unit == Unit::Plan {
            self.job.record.state = JobState::Planning;
        }
        let event = match stage {
            Stage::Synthesis => TimelineEvent::SynthAssign,
            Stage::Proving => TimelineEvent::GpuAssign,
        };
        let worker = attempt.worker;
        self.record(event, Some(unit), attempt.number, Some(worker.clone()), []);
        self.actions.push(Action::Post { worker, task });
    }

    fn grant(&mut self, unit: Unit, stage: Stage, to: WorkerLife) -> Option<AttemptRecord> {
        let now = self.now;
        let record = self.job.unit_mut(unit)?;
        let payload_attempt = match stage {
            Stage::Synthesis => 0,
            Stage::Proving => record.provable_payload()?,
        };
        if record.is_done || record.stage(stage).live.is_some() {
            return None;
        }
        let ready_at = record.stage_mut(stage).ready_at.take()?;
        record.token = record.token.next();
        let token = record.token;
        let state = record.stage_mut(stage);
        state.attempts += 1;
        let attempt = AttemptRecord {
            number: state.attempts,
            token,
            worker: to.worker,
            incarnation: to.incarnation,
            ready_at: ready_at.min(now),
            assigned_at: now,
            started_at: None,
            sending_at: None,
            payload_attempt,
        };
        state.live = Some(attempt.clone());
        self.changed.insert(unit);
        Some(attempt)
    }

    fn task(&self, key: TaskKey, payload_attempt: u32) -> Option<Task> {
        let record = &self.job.record;
        let circuit = record.circuit.clone();
        Some(match (key.unit, key.stage) {
            (Unit::Plan, _) => Task::Plan(PlanTask { key, circuit }),
            (Unit::Partition(partition), Stage::Synthesis) => Task::Synthesize(SynthTask {
                key,
                circuit,
                partition,
                // Known where it is posted.
                needs_evaluations: false,
            }),
            (Unit::Partition(partition), Stage::Proving) => Task::Prove(ProveTask {
                key,
                circuit,
                partition,
                shape: record.plan.as_ref()?.shape,
                payload_attempt,
            }),
            (Unit::Finish, _) => Task::Finish(FinishTask {
                key,
                circuit,
                partition_count: record.plan.as_ref()?.partition_count,
            }),
        })
    }
}
