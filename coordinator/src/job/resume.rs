//! A job that was read back: what is queued, what is held, and what the marks in the broker say beyond its record.

use proofmill_shared::broker::UnitMarks;
use proofmill_shared::protocol::{FencingToken, Stage, TaskKey, Unit};

use super::action::Action;
use super::event::{JobEvent, Report, WorkerLife};
use super::model::Job;

/// An attempt that a worker has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The attempt.
    pub key: TaskKey,
    /// Who has it.
    pub by: WorkerLife,
}

/// What of a job must be known again outside its record.
#[derive(Debug, Default, PartialEq)]
pub struct Resumed {
    /// Attempts that workers have: to be booked before the actions are done.
    pub held: Vec<Held>,
    /// What is queued, shipped and being proved.
    pub actions: Vec<Action>,
}

impl Job {
    /// What is queued, held and in flight of this job.
    #[must_use]
    pub fn resume(&self) -> Resumed {
        let mut resumed = Resumed::default();
        if self.state().is_terminal() {
            return resumed;
        }
        for (key, live) in self.live_attempts() {
            let by = WorkerLife {
                worker: live.worker.clone(),
                incarnation: live.incarnation,
            };
            resumed.held.push(Held { key, by });
        }
        for (unit, record) in self.units() {
            if let (Unit::Partition(partition), Some(payload)) = (unit, &record.payload) {
                resumed.actions.push(Action::PayloadShipped {
                    partition,
                    bytes: payload.bytes,
                    took: None,
                });
            }
            for stage in [Stage::Synthesis, Stage::Proving] {
                let state = record.stage(stage);
                if let Some(not_before) = state.ready_at {
                    resumed.actions.push(Action::Enqueue {
                        unit,
                        stage,
                        not_before,
                        avoid: state.last_worker.clone(),
                    });
                }
            }
            let proving = record.prove.live.as_ref();
            if let (Unit::Partition(partition), Some(_)) =
                (unit, proving.and_then(|live| live.started_at))
            {
                resumed.actions.push(Action::ProvingBegan { partition });
            }
        }
        resumed
    }
}

/// The events that the marks of a unit stand for and its record has not seen. A stored result is not among them: it has
/// to be read first.
#[must_use]
pub fn events_of_marks(job: &Job, unit: Unit, marks: &UnitMarks) -> Vec<JobEvent> {
    let Some(record) = job.unit(unit) else {
        return Vec::new();
    };
    let mut events = Vec::new();
    let stages = [
        (Stage::Synthesis, marks.synth_started, marks.shipped),
        (Stage::Proving, marks.prove_started, FencingToken(0)),
    ];
    for (stage, started, shipped) in stages {
        let Some(live) = &record.stage(stage).live else {
            continue;
        };
        let mut found = |report| {
            events.push(JobEvent::Reported {
                by: None,
                key: live.key(job.record.id, unit, stage),
                report,
            });
        };
        if started == live.token && live.started_at.is_none() {
            found(Report::Started { at: None });
        }
        if shipped == live.token {
            found(Report::Shipped {
                bytes: None,
                at: None,
            });
        }
    }
    events
}
