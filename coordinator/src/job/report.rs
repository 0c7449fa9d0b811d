//! A worker says something about the attempt it has.

use proofmill_shared::protocol::{FailureKind, Stage, TaskFailure, TaskKey, Unit, UnixMicros};

use super::action::Action;
use super::event::{Report, WorkerLife};
use super::record::PayloadRecord;
use super::transition::Change;

impl Change {
    /// Hears a report, if it is about a live attempt and from the life of the worker that has it.
    pub(super) fn report(&mut self, by: Option<&WorkerLife>, key: TaskKey, report: Report) {
        let Some(live) = self.live(&key) else { return };
        if by.is_some_and(|by| by.worker != live.worker || by.incarnation != live.incarnation) {
            return;
        }
        match report {
            Report::Started { at } => self.started(key, at),
            Report::Sending { shape } => {
                let planned = self.job.record.plan.as_ref().map(|plan| plan.shape);
                if planned == Some(shape) {
                    self.sending(key);
                } else {
                    let failure = TaskFailure::new(
                        FailureKind::Attempt,
                        "shape-differs",
                        "assignment has another shape than the plan said: the worker runs another version of the circuit",
                    );
                    if let Some(live) = self.take_back(key.unit, key.stage) {
                        self.failed_attempt(key, live, failure);
                    }
                }
            }
            Report::Shipped { bytes, at } => self.shipped(key, bytes, at),
            Report::Failed(failure) => self.failed(key, failure),
            Report::Released => self.released(key),
        }
    }

    /// Marks a live attempt as started, once.
    pub(super) fn started(&mut self, key: TaskKey, at: Option<UnixMicros>) {
        let Some(record) = self.job.unit_mut(key.unit) else {
            return;
        };
        let shipped_at = record.payload.as_ref().map(|payload| payload.shipped_at);
        let Some(live) = record.stage_mut(key.stage).live.as_mut() else {
            return;
        };
        if live.started_at.is_some() {
            return;
        }
        let to = at.unwrap_or(self.now).max(live.assigned_at);
        live.started_at = Some(to);
        let from = match key.stage {
            Stage::Synthesis => live.ready_at,
            // A device that was there before the payload was complete did not keep it waiting.
            Stage::Proving => shipped_at.unwrap_or(to).min(to),
        };
        let waited = Action::Waited {
            key,
            worker: live.worker.clone(),
            from,
            assigned_at: live.assigned_at,
            to,
        };
        self.changed.insert(key.unit);
        self.actions.push(waited);
        if let (Unit::Partition(partition), Stage::Proving) = (key.unit, key.stage) {
            self.actions.push(Action::ProvingBegan { partition });
        }
    }

    fn sending(&mut self, key: TaskKey) {
        let now = self.now;
        if !matches!(
            (key.unit, key.stage),
            (Unit::Partition(_), Stage::Synthesis)
        ) {
            return;
        }
        self.started(key, None);
        let Some(record) = self.job.unit_mut(key.unit) else {
            return;
        };
        if let Some(live) = record.synth.live.as_mut()
            && live.sending_at.is_none()
        {
            live.sending_at = Some(now);
            self.changed.insert(key.unit);
            self.offer_to_gpu(key.unit);
        }
    }

    fn shipped(&mut self, key: TaskKey, bytes: Option<u64>, at: Option<UnixMicros>) {
        let (Unit::Partition(partition), Stage::Synthesis) = (key.unit, key.stage) else {
            return;
        };
        self.started(key, None);
        let Some(live) = self.end_attempt(key.unit, key.stage) else {
            return;
        };
        let shipped_at = at.unwrap_or(self.now);
        if let Some(record) = self.job.unit_mut(key.unit) {
            record.payload = Some(PayloadRecord {
                attempt: live.number,
                worker: live.worker,
                shipped_at,
                bytes,
            });
        }
        self.actions.push(Action::PayloadShipped {
            partition,
            bytes,
            took: live.started_at.map(|started| shipped_at.since(started)),
        });
        self.offer_to_gpu(key.unit);
    }

    /// Queues a partition for proving, unless it is queued or has a worker already.
    fn offer_to_gpu(&mut self, unit: Unit) {
        let is_idle = self.job.unit(unit).is_some_and(|record| {
            record.prove.live.is_none() && record.prove.ready_at.is_none() && !record.is_done
        });
        if is_idle {
            self.enqueue(unit, Stage::Proving);
        }
    }
}
