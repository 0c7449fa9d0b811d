//! A job in memory: its header and all its units.

use std::collections::BTreeMap;

use proofmill_shared::protocol::{FencingToken, Stage, TaskKey, Unit};

use super::record::{AttemptRecord, JobRecord, StageRecord, UnitRecord};
use crate::view::{JobState, JobView, PartitionState, PartitionView};

/// A job with its units. Changes only in [`super::transition`].
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    pub(super) record: JobRecord,
    pub(super) plan: UnitRecord,
    pub(super) partitions: Vec<UnitRecord>,
    pub(super) finish: UnitRecord,
    /// Partitions whose proof is stored.
    pub(super) proved: usize,
}

impl Job {
    /// Puts a job together from its header and the units that were written; a unit that never was is as its job's
    /// state implies.
    #[must_use]
    pub fn from_records(record: JobRecord, mut units: BTreeMap<Unit, UnitRecord>) -> Self {
        let ready = |at| UnitRecord {
            synth: StageRecord {
                ready_at: Some(at),
                ..StageRecord::default()
            },
            ..UnitRecord::default()
        };
        let plan = units
            .remove(&Unit::Plan)
            .unwrap_or_else(|| ready(record.submitted_at));
        let count = record.plan.as_ref().map_or(0, |plan| plan.partition_count);
        let partitions: Vec<UnitRecord> = (0..count)
            .map(|index| {
                units
                    .remove(&Unit::Partition(index))
                    .unwrap_or_else(|| ready(record.planned_at))
            })
            .collect();
        let proved = partitions.iter().filter(|unit| unit.is_done).count();
        let is_joinable = count > 0 && proved == partitions.len();
        let finish = units.remove(&Unit::Finish).unwrap_or_else(|| {
            if is_joinable {
                ready(record.proved_at)
            } else {
                UnitRecord::default()
            }
        });
        Self {
            record,
            plan,
            partitions,
            finish,
            proved,
        }
    }

    /// The header.
    #[must_use]
    pub const fn record(&self) -> &JobRecord {
        &self.record
    }

    /// Where it stands.
    #[must_use]
    pub const fn state(&self) -> JobState {
        self.record.state
    }

    /// A unit; `None` for a partition that the plan does not have.
    #[must_use]
    pub fn unit(&self, unit: Unit) -> Option<&UnitRecord> {
        match unit {
            Unit::Plan => Some(&self.plan),
            Unit::Partition(index) => self.partitions.get(index as usize),
            Unit::Finish => Some(&self.finish),
        }
    }

    pub(super) fn unit_mut(&mut self, unit: Unit) -> Option<&mut UnitRecord> {
        match unit {
            Unit::Plan => Some(&mut self.plan),
            Unit::Partition(index) => self.partitions.get_mut(index as usize),
            Unit::Finish => Some(&mut self.finish),
        }
    }

    /// Every unit the job has by now, in order.
    pub fn units(&self) -> impl Iterator<Item = (Unit, &UnitRecord)> {
        let partitions = (0u32..).zip(&self.partitions);
        std::iter::once((Unit::Plan, &self.plan))
            .chain(partitions.map(|(index, unit)| (Unit::Partition(index), unit)))
            .chain(std::iter::once((Unit::Finish, &self.finish)))
    }

    /// Every attempt that a worker has.
    pub fn live_attempts(&self) -> impl Iterator<Item = (TaskKey, &AttemptRecord)> {
        let job = self.record.id;
        self.units().flat_map(move |(unit, record)| {
            [Stage::Synthesis, Stage::Proving]
                .into_iter()
                .filter_map(move |stage| {
                    let live = record.stage(stage).live.as_ref()?;
                    Some((live.key(job, unit, stage), live))
                })
        })
    }

    /// The job as clients see it.
    #[must_use]
    pub fn view(&self) -> JobView {
        let record = &self.record;
        JobView {
            id: record.id,
            trace_id: record.trace_id(),
            circuit: record.circuit.clone(),
            state: record.state,
            priority: record.priority,
            submitted_at: record.submitted_at,
            ended_at: record.ended_at,
            deadline: record.deadline,
            summary: record.plan.as_ref().map(|plan| plan.summary.clone()),
            partitions: (0u32..)
                .zip(&self.partitions)
                .map(|(index, unit)| unit.view(index))
                .collect(),
            failure: record.failure.clone(),
            retry_of: record.retry_of,
        }
    }
}

impl JobRecord {
    /// The trace id of the job, 32 hex digits.
    #[must_use]
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.id.trace_id())
    }
}

impl UnitRecord {
    /// One of its stages.
    #[must_use]
    pub const fn stage(&self, stage: Stage) -> &StageRecord {
        match stage {
            Stage::Synthesis => &self.synth,
            Stage::Proving => &self.prove,
        }
    }

    pub(super) const fn stage_mut(&mut self, stage: Stage) -> &mut StageRecord {
        match stage {
            Stage::Synthesis => &mut self.synth,
            Stage::Proving => &mut self.prove,
        }
    }

    /// The only token that the broker is to accept for a stage; 0 for none.
    #[must_use]
    pub fn accepted_token(&self, stage: Stage) -> FencingToken {
        self.stage(stage)
            .live
            .as_ref()
            .map_or(FencingToken(0), |live| live.token)
    }

    /// The synthesis attempt whose payload can be proved or fetched by now.
    #[must_use]
    pub fn provable_payload(&self) -> Option<u32> {
        let sending = || {
            let live = self.synth.live.as_ref()?;
            live.sending_at.map(|_| live.number)
        };
        self.payload
            .as_ref()
            .map(|payload| payload.attempt)
            .or_else(sending)
    }

    /// Where it stands, as a partition.
    #[must_use]
    pub fn state(&self) -> PartitionState {
        if self.is_done {
            PartitionState::Proved
        } else if self.payload.is_some() {
            match &self.prove.live {
                Some(live) if live.started_at.is_some() => PartitionState::Proving,
                _ => PartitionState::Shipped,
            }
        } else if self.synth.live.is_some() {
            PartitionState::Synthesizing
        } else {
            PartitionState::Waiting
        }
    }

    fn view(&self, index: u32) -> PartitionView {
        let holder = self.prove.live.as_ref().or(self.synth.live.as_ref());
        PartitionView {
            index,
            state: self.state(),
            synth_attempts: self.synth.attempts,
            prove_attempts: self.prove.attempts,
            worker: holder.map(|live| live.worker.clone()),
        }
    }
}

impl AttemptRecord {
    /// The key of the attempt.
    #[must_use]
    pub const fn key(
        &self,
        job: proofmill_shared::protocol::JobId,
        unit: Unit,
        stage: Stage,
    ) -> TaskKey {
        TaskKey {
            job,
            unit,
            stage,
            attempt: self.number,
            token: self.token,
        }
    }
}
