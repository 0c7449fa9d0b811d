//! One step of one job: inputs to events, events through the transition, one commit, then its effects.
//!
//! Steps of one job follow each other; steps of different jobs overlap.

use std::collections::BTreeSet;

use proofmill_shared::broker::BrokerError;
use proofmill_shared::protocol::{EventMessage, JobId, TaskKey, Unit, WorkerEvent};
use proofmill_shared::telemetry::{TimelineEvent, TimelineRecord};

use super::super::ending::CoordinatorEnd;
use super::super::event_reader::Acks;
use super::super::insist::insist_on_hint;
use super::super::site::Site;
use super::durable::{self, Committed, LoadedJob};
use super::effects;
use super::slot::Input;
use crate::handle::CoordinatorError;
use crate::job::{
    Action, Job, JobEvent, LossCause, Report, Transition, WorkerLife, events_of_marks, transition,
};
use crate::scheduler::UnitStage;
use crate::view::JobState;

/// What is to be done in one step.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) id: JobId,
    /// The job with its version; `None` if it is to be read first.
    pub(super) known: Option<(Job, u64)>,
    pub(super) batch: Vec<Input>,
}

/// What a step gave.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The job moved on, or stayed as it was.
    Moved(Box<Moved>),
    /// The job is not in the broker any more.
    Missing,
    /// The broker fails for good on this job: to be tried again later, with the inputs it had.
    Stuck { batch: Vec<Input> },
}

/// Advances a job by a batch of inputs.
pub(super) async fn advance(site: &Site, acks: &Acks, work: Work) -> Outcome {
    let Work { id, known, batch } = work;
    match try_advance(site, id, known, &batch).await {
        Ok(Some(moved)) => {
            answer(batch, acks, Some(&moved));
            Outcome::Moved(Box::new(moved))
        }
        Ok(None) => {
            tracing::error!(job = %id, "job is lost: the broker does not have it any more");
            answer(batch, acks, None);
            Outcome::Missing
        }
        Err(error) => {
            if !site.is_ending() {
                tracing::error!(job = %id, %error, "job cannot be written, trying again later");
            }
            Outcome::Stuck { batch }
        }
    }
}

/// A job after a step.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) job: Job,
    pub(super) version: u64,
    pub(super) actions: Vec<Action>,
    /// True if the job was read anew: what is queued and held of it is to be forgotten and resumed.
    pub(super) is_resynced: bool,
    /// True if it had ended before this step.
    had_ended: bool,
}

async fn try_advance(
    site: &Site,
    id: JobId,
    known: Option<(Job, u64)>,
    batch: &[Input],
) -> Result<Option<Moved>, BrokerError> {
    let must_reload = batch.iter().any(|input| matches!(input, Input::Reload));
    let mut known = known.filter(|_| !must_reload);
    loop {
        let is_resynced = known.is_none();
        let (job, version) = match known.take() {
            Some(known) => known,
            None => match durable::load(site, id).await? {
                Some(LoadedJob { job, version }) => (job, version),
                None => return Ok(None),
            },
        };
        let had_ended = job.state().is_terminal();
        let step = Step::take(site, job, batch, is_resynced).await?;
        let letters: Vec<Action> = step
            .actions
            .iter()
            .filter(|action| matches!(action, Action::PutDeadLetter(_)))
            .cloned()
            .collect();
        effects::perform(site, step.job.record(), &letters).await;
        let committed = if step.is_changed {
            durable::commit(site, &step.job, version, &step.changed).await?
        } else {
            Committed::Done(version)
        };
        match committed {
            Committed::Done(version) => {
                effects::append_timeline(site, id, step.timeline()).await;
                effects::perform(site, step.job.record(), &step.others()).await;
                return Ok(Some(Moved {
                    job: step.job,
                    version,
                    actions: step.actions,
                    is_resynced,
                    had_ended,
                }));
            }
            Committed::Missing => return Ok(None),
            Committed::Deposed => {
                tracing::error!(job = %id, "a younger coordinator wrote this job, this one ends");
                site.finish(CoordinatorEnd::Deposed);
            }
            Committed::Stale => {
                tracing::warn!(job = %id, "job was written by another, reading it anew")
            }
        }
        if !letters.is_empty() {
            insist_on_hint(site, "drop dead letter", async || {
                site.broker().drop_dead_letter(id).await
            })
            .await;
        }
        if site.is_ending() {
            let detail = "coordinator is deposed".to_owned();
            return Err(BrokerError::Unexpected { detail });
        }
    }
}

/// Transitions of one batch, gathered for one commit.
#[derive(Debug)]
struct Step {
    job: Job,
    changed: BTreeSet<Unit>,
    is_changed: bool,
    actions: Vec<Action>,
    timeline: Vec<TimelineRecord>,
}

impl Step {
    /// Applies a batch. Assignments are left out of one that is applied to a job read anew: what they were made from is
    /// forgotten, and made anew too.
    async fn take(
        site: &Site,
        job: Job,
        batch: &[Input],
        is_resynced: bool,
    ) -> Result<Self, BrokerError> {
        let mut step = Self {
            job,
            changed: BTreeSet::new(),
            is_changed: false,
            actions: Vec::new(),
            timeline: Vec::new(),
        };
        for input in batch {
            if is_resynced && matches!(input, Input::Event(JobEvent::Assigned { .. })) {
                continue;
            }
            // The last event of a job brings the last records of its timeline; later ones come too late.
            let is_in_time = !step.job.state().is_terminal();
            for event in events(site, &step.job, input).await? {
                step = step.apply(site, event);
            }
            if let Input::Report(read) = input
                && is_in_time
            {
                step.timeline.extend(read.message.timeline.iter().cloned());
            }
        }
        Ok(step)
    }

    fn apply(mut self, site: &Site, event: JobEvent) -> Self {
        let Transition {
            job,
            changed,
            is_changed,
            actions,
        } = transition(self.job, event, site.now());
        self.changed.extend(changed);
        self.is_changed |= is_changed;
        self.actions.extend(actions);
        Self { job, ..self }
    }

    /// What the workers' timelines and this step's own transitions add to the job's.
    fn timeline(&self) -> Vec<TimelineRecord> {
        let own = self.actions.iter().filter_map(|action| match action {
            Action::Record(record) => Some(record.clone()),
            _ => None,
        });
        self.timeline.iter().cloned().chain(own).collect()
    }

    /// Everything that is done after the commit.
    fn others(&self) -> Vec<Action> {
        let is_later = |action: &&Action| !matches!(action, Action::PutDeadLetter(_));
        self.actions.iter().filter(is_later).cloned().collect()
    }
}

/// The events that an input stands for, given the job as it is now.
async fn events(site: &Site, job: &Job, input: &Input) -> Result<Vec<JobEvent>, BrokerError> {
    match input {
        Input::Event(event) => Ok(vec![event.clone()]),
        Input::Report(read) => reported(site, job, &read.message).await,
        Input::Lost { what, by, cause } => lost(site, job, what, by, *cause).await,
        Input::CheckMarks => marked(site, job).await,
        Input::Cancel(_) => Ok(vec![JobEvent::Cancel]),
        Input::Reload | Input::Describe(_) => Ok(Vec::new()),
    }
}

async fn reported(
    site: &Site,
    job: &Job,
    message: &EventMessage,
) -> Result<Vec<JobEvent>, BrokerError> {
    let key = message.key;
    let instant = |events: &[TimelineEvent]| {
        let mut records = message.timeline.iter();
        let found = records.find(|record| events.contains(&record.event));
        found.map(|record| record.at)
    };
    let report = match &message.event {
        WorkerEvent::Started => Report::Started {
            at: instant(&[TimelineEvent::SynthStart, TimelineEvent::GpuPickup]),
        },
        WorkerEvent::Sending { shape } => Report::Sending { shape: *shape },
        WorkerEvent::Shipped { bytes, .. } => Report::Shipped {
            bytes: Some(*bytes),
            at: instant(&[TimelineEvent::ChanSent]),
        },
        WorkerEvent::Failed(failure) => Report::Failed(failure.clone()),
        WorkerEvent::Released => Report::Released,
        WorkerEvent::Stored => return stored(site, job, key).await,
    };
    let by = Some(WorkerLife {
        worker: message.worker.clone(),
        incarnation: message.incarnation,
    });
    Ok(vec![JobEvent::Reported { by, key, report }])
}

async fn stored(site: &Site, job: &Job, key: TaskKey) -> Result<Vec<JobEvent>, BrokerError> {
    let is_wanted = job.unit(key.unit).is_some_and(|unit| !unit.is_done);
    if job.state().is_terminal() || !is_wanted {
        return Ok(Vec::new());
    }
    let result = durable::result(site, job, key.unit).await?;
    Ok(result
        .map(|result| JobEvent::Stored {
            unit: key.unit,
            token: Some(key.token),
            result,
        })
        .into_iter()
        .collect())
}

/// A loss, after whatever the attempt had made durable before it.
async fn lost(
    site: &Site,
    job: &Job,
    what: &UnitStage,
    by: &WorkerLife,
    cause: LossCause,
) -> Result<Vec<JobEvent>, BrokerError> {
    let is_theirs = |(key, live): &(TaskKey, &crate::job::AttemptRecord)| {
        (key.unit, key.stage) == (what.unit, what.stage)
            && (&live.worker, live.incarnation) == (&by.worker, by.incarnation)
    };
    let Some((key, _)) = job.live_attempts().find(is_theirs) else {
        return Ok(Vec::new());
    };
    let mut events = unit_marks(site, job, key.unit).await?;
    events.push(JobEvent::AttemptLost { key, cause });
    Ok(events)
}

/// What the marks of every unit with a live attempt say beyond its record.
async fn marked(site: &Site, job: &Job) -> Result<Vec<JobEvent>, BrokerError> {
    let units: BTreeSet<Unit> = job.live_attempts().map(|(key, _)| key.unit).collect();
    let mut events = Vec::new();
    for unit in units {
        events.extend(unit_marks(site, job, unit).await?);
    }
    Ok(events)
}

async fn unit_marks(site: &Site, job: &Job, unit: Unit) -> Result<Vec<JobEvent>, BrokerError> {
    let marks = durable::marks(site, job.record().id, unit).await?;
    let mut events = events_of_marks(job, unit, &marks);
    if marks.has_result
        && let Some(result) = durable::result(site, job, unit).await?
    {
        events.push(JobEvent::Stored {
            unit,
            token: None,
            result,
        });
    }
    Ok(events)
}

/// Acknowledges and answers what was in a batch, now that it is durable.
fn answer(batch: Vec<Input>, acks: &Acks, moved: Option<&Moved>) {
    for input in batch {
        match input {
            Input::Report(read) => acks.hand_in(read.delivery),
            Input::Describe(reply) => {
                if let Some(moved) = moved
                    && reply.send(moved.job.view()).is_err()
                {
                    tracing::trace!("nobody waits for the job any more");
                }
            }
            Input::Cancel(reply) => {
                let answer = match moved {
                    None => Err(CoordinatorError::Unavailable),
                    Some(moved) if moved.job.state() != JobState::Cancelled || moved.had_ended => {
                        Err(CoordinatorError::WrongState {
                            job: moved.job.record().id,
                            state: moved.job.state(),
                            needs: "only a job that has not ended can be cancelled",
                        })
                    }
                    Some(moved) => Ok(moved.job.view()),
                };
                if reply.send(answer).is_err() {
                    tracing::trace!("nobody waits for the cancellation any more");
                }
            }
            Input::Event(_) | Input::Lost { .. } | Input::CheckMarks | Input::Reload => {}
        }
    }
}
