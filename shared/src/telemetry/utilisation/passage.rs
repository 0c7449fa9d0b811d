//! The way of each unit through the pipeline, put together from events.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::interval::Interval;
use super::moment::{Moment, is_proving};
use crate::protocol::{Unit, UnixMicros};
use crate::telemetry::{TimelineEvent, fields};

/// Everything the events say, by job.
#[derive(Debug, Clone, Default)]
pub(crate) struct Story {
    /// By submission, oldest first.
    pub(crate) jobs: Vec<JobPassage>,
    /// Instants of each worker's events, in order.
    pub(crate) signs: HashMap<String, Vec<UnixMicros>>,
    /// First and last event.
    pub(crate) span: Option<Interval>,
}

/// One job's way.
#[derive(Debug, Clone)]
pub(crate) struct JobPassage {
    pub(crate) job: String,
    /// JOB_SUBMIT; where a log has none, the job's first event.
    pub(crate) submit: UnixMicros,
    pub(crate) done: Option<UnixMicros>,
    pub(crate) state: Option<String>,
    /// In the order of partitions, plan first and finish last.
    pub(crate) units: Vec<UnitPassage>,
}

/// One unit's way: its attempts, each stage by number.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnitPassage {
    pub(crate) unit: String,
    pub(crate) synth: Vec<Attempt>,
    pub(crate) prove: Vec<Attempt>,
}

/// One attempt, with the first instant of each of its events.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) number: u32,
    pub(crate) worker: String,
    /// The device it ran on: the fact `gpu`, else the worker.
    pub(crate) device: String,
    /// What the device is called.
    pub(crate) device_label: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) key_load: Duration,
    pub(crate) last: UnixMicros,
    at: BTreeMap<TimelineEvent, UnixMicros>,
}

impl Story {
    /// Puts events together, in whatever order they come.
    pub(crate) fn new(moments: &[Moment]) -> Self {
        let mut order: Vec<&Moment> = moments.iter().collect();
        order.sort_by_key(|moment| (moment.at, moment.event));
        let mut story = Self::default();
        let mut index: HashMap<&str, usize> = HashMap::new();
        for moment in order {
            let job = *index.entry(moment.job.as_str()).or_insert_with(|| {
                story.jobs.push(JobPassage::new(moment));
                story.jobs.len() - 1
            });
            story.jobs[job].add(moment);
            let span = story
                .span
                .get_or_insert(Interval::new(moment.at, moment.at));
            span.end = span.end.max(moment.at);
            if !moment.worker.is_empty() {
                story
                    .signs
                    .entry(moment.worker.clone())
                    .or_default()
                    .push(moment.at);
            }
        }
        for job in &mut story.jobs {
            job.units.sort_by_cached_key(UnitPassage::rank);
        }
        story.jobs.sort_by_key(|job| job.submit);
        story
    }

    /// Every unit with the index of its job.
    pub(crate) fn units(&self) -> impl Iterator<Item = (usize, &UnitPassage)> {
        let jobs = self.jobs.iter().enumerate();
        jobs.flat_map(|(index, job)| job.units.iter().map(move |unit| (index, unit)))
    }
}

impl JobPassage {
    fn new(first: &Moment) -> Self {
        Self {
            job: first.job.clone(),
            submit: first.at,
            done: None,
            state: None,
            units: Vec::new(),
        }
    }

    fn add(&mut self, moment: &Moment) {
        match moment.event {
            TimelineEvent::JobSubmit => return,
            TimelineEvent::JobDone => {
                self.done = self.done.or(Some(moment.at));
                self.state = self
                    .state
                    .take()
                    .or_else(|| moment.fields.get(fields::STATE).cloned());
                return;
            }
            _ => {}
        }
        let at = match self.units.iter().position(|unit| unit.unit == moment.unit) {
            Some(at) => at,
            None => {
                self.units.push(UnitPassage {
                    unit: moment.unit.clone(),
                    ..UnitPassage::default()
                });
                self.units.len() - 1
            }
        };
        self.units[at].add(moment);
    }
}

impl UnitPassage {
    fn add(&mut self, moment: &Moment) {
        let attempts = if is_proving(moment.event) {
            &mut self.prove
        } else {
            &mut self.synth
        };
        let at = attempts.partition_point(|attempt| attempt.number < moment.attempt);
        if attempts
            .get(at)
            .is_none_or(|attempt| attempt.number != moment.attempt)
        {
            attempts.insert(at, Attempt::new(moment));
        }
        attempts[at].add(moment);
    }

    /// Plan, partitions by number, anything else by name, finish.
    fn rank(&self) -> (u8, u64, String) {
        match (self.unit.parse(), self.unit.as_str()) {
            (Ok(number), _) => (1, number, String::new()),
            (Err(_), name) if name == Unit::Plan.to_string() => (0, 0, String::new()),
            (Err(_), name) if name == Unit::Finish.to_string() => (3, 0, String::new()),
            (Err(_), name) => (2, 0, name.to_owned()),
        }
    }

    /// True for what is synthesized and proved; false for planning and finishing.
    pub(crate) fn is_partition(&self) -> bool {
        matches!(self.rank().0, 1 | 2)
    }

    /// The proving attempt that gave the proof, else the last one.
    pub(crate) fn decisive_prove(&self) -> Option<&Attempt> {
        let verified = |attempt: &&Attempt| attempt.get(TimelineEvent::ProofVerified).is_some();
        self.prove.iter().find(verified).or(self.prove.last())
    }

    /// The synthesis attempt whose payload a proving attempt took: the last that was ready by its pickup, else the last.
    pub(crate) fn synth_before(&self, pickup: Option<UnixMicros>) -> Option<&Attempt> {
        let is_ready = |attempt: &&Attempt| {
            let ready = attempt
                .get(TimelineEvent::ChanSend)
                .or(attempt.get(TimelineEvent::SynthEnd));
            ready.is_some_and(|ready| pickup.is_none_or(|pickup| ready <= pickup))
        };
        self.synth.iter().rev().find(is_ready).or(self.synth.last())
    }

    /// Attempts of both stages that ended in silence and were followed by another: what was lost until then, from the
    /// last sign of the attempt to the first of its successor.
    pub(crate) fn lost(&self) -> impl Iterator<Item = (&Attempt, Interval)> {
        let last_step = if self.is_partition() {
            TimelineEvent::ChanSent
        } else {
            TimelineEvent::SynthEnd
        };
        let stages = [
            (&self.synth, last_step),
            (&self.prove, TimelineEvent::ProofVerified),
        ];
        stages.into_iter().flat_map(|(attempts, last_step)| {
            attempts.windows(2).filter_map(move |pair| {
                let (silent, next) = (&pair[0], &pair[1]);
                let is_lost = silent.get(last_step).is_none() && silent.error.is_none();
                is_lost.then(|| (silent, Interval::new(silent.last, next.first())))
            })
        })
    }
}

impl Attempt {
    fn new(first: &Moment) -> Self {
        Self {
            number: first.attempt,
            worker: first.worker.clone(),
            device: first.worker.clone(),
            device_label: None,
            error: None,
            key_load: Duration::ZERO,
            last: first.at,
            at: BTreeMap::new(),
        }
    }

    fn add(&mut self, moment: &Moment) {
        self.at.entry(moment.event).or_insert(moment.at);
        self.last = self.last.max(moment.at);
        let field = |key: &str| moment.fields.get(key);
        if let Some(gpu) = field(fields::GPU) {
            self.device = format!("gpu {gpu}");
        }
        if let Some(label) = field(fields::DEVICE) {
            self.device_label = Some(label.clone());
        }
        if let Some(millis) = field(fields::KEY_LOAD_MS).and_then(|text| text.parse::<f64>().ok()) {
            self.key_load = Duration::try_from_secs_f64(millis / 1_000.0).unwrap_or_default();
        }
        if let Some(error) = field(fields::ERROR) {
            self.error = Some(error.clone());
        }
    }

    /// When an event of it happened.
    pub(crate) fn get(&self, event: TimelineEvent) -> Option<UnixMicros> {
        self.at.get(&event).copied()
    }

    /// Its first event.
    pub(crate) fn first(&self) -> UnixMicros {
        self.at.values().min().copied().unwrap_or(self.last)
    }

    /// From one event to another, if both happened.
    pub(crate) fn between(&self, from: TimelineEvent, to: TimelineEvent) -> Option<Interval> {
        Some(Interval::new(self.get(from)?, self.get(to)?))
    }

    /// From an event to another; to its failure or last sign if that is known to be all, else up to `now`.
    pub(crate) fn running(
        &self,
        from: TimelineEvent,
        to: TimelineEvent,
        is_over: bool,
        now: UnixMicros,
    ) -> Option<Interval> {
        let start = self.get(from)?;
        let open_end = if is_over || self.error.is_some() {
            self.last
        } else {
            now
        };
        Some(Interval::new(start, self.get(to).unwrap_or(open_end)))
    }
}
