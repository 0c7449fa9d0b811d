//! The entry: one event, one job, what changes and what is to be done.

use std::collections::{BTreeMap, BTreeSet};

use proofmill_shared::broker::PayloadKey;
use proofmill_shared::protocol::{Stage, TaskKey, Unit, UnixMicros, WorkerId};
use proofmill_shared::telemetry::{TimelineEvent, TimelineRecord};

use super::action::{Action, Transition};
use super::event::JobEvent;
use super::limits::backoff;
use super::model::Job;
use super::record::{AttemptRecord, JobRecord};

/// Takes a job in: what its first record leads to.
#[must_use]
pub fn accept(record: JobRecord) -> Transition {
    let now = record.submitted_at;
    let mut change = Change::new(Job::from_records(record, BTreeMap::new()), now);
    change.is_changed = true;
    change.record(TimelineEvent::JobSubmit, None, 0, None, []);
    change.actions.push(Action::Enqueue {
        unit: Unit::Plan,
        stage: Stage::Synthesis,
        not_before: now,
        avoid: None,
    });
    change.finished()
}

/// What an event does to a job at an instant.
#[must_use]
pub fn transition(job: Job, event: JobEvent, now: UnixMicros) -> Transition {
    let mut change = Change::new(job, now);
    if change.job.state().is_terminal() {
        if let JobEvent::Assigned { unit, stage, .. } = event {
            change.actions.push(Action::Refuse { unit, stage });
        }
        return change.finished();
    }
    match event {
        JobEvent::Assigned { unit, stage, to } => change.assign(unit, stage, to),
        JobEvent::Reported { by, key, report } => change.report(by.as_ref(), key, report),
        JobEvent::Stored {
            unit,
            token,
            result,
        } => change.store(unit, token, result),
        JobEvent::AttemptLost { key, cause } => change.lose(key, cause),
        JobEvent::Cancel => change.cancel(),
        JobEvent::DeadlinePassed => change.expire(),
    }
    change.finished()
}

/// A job while it changes.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) job: Job,
    pub(super) now: UnixMicros,
    pub(super) changed: BTreeSet<Unit>,
    pub(super) is_changed: bool,
    pub(super) actions: Vec<Action>,
}

impl Change {
    fn new(job: Job, now: UnixMicros) -> Self {
        Self {
            job,
            now,
            changed: BTreeSet::new(),
            is_changed: false,
            actions: Vec::new(),
        }
    }

    fn finished(mut self) -> Transition {
        self.is_changed |= !self.changed.is_empty();
        if self.is_changed {
            self.actions.push(Action::Announce);
        }
        Transition {
            job: self.job,
            changed: self.changed,
            is_changed: self.is_changed,
            actions: self.actions,
        }
    }

    /// The live attempt that a key names, if it is live.
    pub(super) fn live(&self, key: &TaskKey) -> Option<&AttemptRecord> {
        let live = self.job.unit(key.unit)?.stage(key.stage).live.as_ref()?;
        (live.token == key.token).then_some(live)
    }

    /// Ends the live attempt of a stage: its token stands no more, and its credit comes back.
    pub(super) fn end_attempt(&mut self, unit: Unit, stage: Stage) -> Option<AttemptRecord> {
        let live = self.job.unit_mut(unit)?.stage_mut(stage).live.take()?;
        self.changed.insert(unit);
        self.actions.push(Action::Release { unit, stage });
        Some(live)
    }

    /// Ends the live attempt of a stage whose worker lives and may still be at it.
    pub(super) fn take_back(&mut self, unit: Unit, stage: Stage) -> Option<AttemptRecord> {
        let live = self.end_attempt(unit, stage)?;
        self.actions.push(Action::TakeBack {
            worker: live.worker.clone(),
            key: live.key(self.job.record.id, unit, stage),
        });
        Some(live)
    }

    /// Queues a unit for a stage, later the more of its attempts came to nothing.
    pub(super) fn enqueue(&mut self, unit: Unit, stage: Stage) {
        let now = self.now;
        let Some(record) = self.job.unit_mut(unit) else {
            return;
        };
        let state = record.stage_mut(stage);
        let not_before = now.plus(backoff(state.failed + state.lost));
        state.ready_at = Some(not_before);
        let avoid = state.last_worker.clone();
        self.changed.insert(unit);
        self.actions.push(Action::Enqueue {
            unit,
            stage,
            not_before,
            avoid,
        });
    }

    /// Takes a unit out of the queue of a stage, if it is there.
    pub(super) fn dequeue(&mut self, unit: Unit, stage: Stage) {
        if let Some(record) = self.job.unit_mut(unit)
            && record.stage_mut(stage).ready_at.take().is_some()
        {
            self.changed.insert(unit);
            self.actions.push(Action::Dequeue { unit, stage });
        }
    }

    /// Removes the payload that a synthesis attempt shipped or began to ship.
    pub(super) fn drop_payload(&mut self, unit: Unit, attempt: u32) {
        if let Unit::Partition(partition) = unit {
            let payload = PayloadKey {
                job: self.job.record.id,
                partition,
                attempt,
            };
            self.actions.push(Action::DropPayload { payload });
        }
    }

    /// Adds to the timeline.
    pub(super) fn record<const N: usize>(
        &mut self,
        event: TimelineEvent,
        unit: Option<Unit>,
        attempt: u32,
        worker: Option<WorkerId>,
        fields: [(&str, String); N],
    ) {
        self.actions.push(Action::Record(TimelineRecord {
            event,
            at: self.now,
            job: self.job.record.id,
            unit,
            attempt,
            worker,
            fields: fields.map(|(name, value)| (name.to_owned(), value)).into(),
        }));
    }
}
