//! One device: when it was busy, and for each idle stretch, why.

use std::collections::BTreeMap;
use std::time::Duration;

use super::cause::IdleCause;
use super::interval::{Interval, IntervalSet};
use super::passage::{Attempt, Story, UnitPassage};
use crate::protocol::UnixMicros;
use crate::telemetry::TimelineEvent::{
    ChanSent, FetchEnd, GpuEnd, GpuPickup, GpuStart, ProofVerified, SynthEnd,
};

/// One proving attempt on a device, with the unit and job it belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visit<'a> {
    pub(crate) job: usize,
    pub(crate) unit: &'a UnitPassage,
    pub(crate) attempt: &'a Attempt,
    /// True if it ended in silence and another attempt followed.
    pub(crate) is_lost: bool,
}

impl Visit<'_> {
    /// When it occupied the device.
    pub(crate) fn busy(&self, now: UnixMicros) -> Option<Interval> {
        self.attempt.running(GpuStart, GpuEnd, self.is_lost, now)
    }

    /// What visits of a device are ordered by.
    fn order(&self) -> UnixMicros {
        self.attempt.get(GpuStart).unwrap_or(self.attempt.last)
    }

    /// Explains what this proof was waiting for, from the last step backwards; `verifying` is when its device's worker
    /// verified other proofs.
    fn explain(&self, story: &Story, verifying: &IntervalSet, rest: &mut Unexplained<'_>) {
        let attempt = self.attempt;
        let Some(start) = attempt.get(GpuStart) else {
            return;
        };
        let pickup = attempt.get(GpuPickup).unwrap_or(start);
        let fetched = attempt.get(FetchEnd).unwrap_or(pickup);
        let synth = self.unit.synth_before(Some(pickup));
        let ready = synth
            .and_then(|synth| synth.get(SynthEnd))
            .unwrap_or(pickup);
        let sent = synth.and_then(|synth| synth.get(ChanSent)).unwrap_or(ready);

        let key_loads = UnixMicros(
            start
                .0
                .saturating_sub(micros(attempt.key_load))
                .max(fetched.0),
        );
        rest.explain(&one(key_loads, start), IdleCause::KeyLoad);
        rest.explain(&one(fetched, start), IdleCause::HostOverhead);
        // Sent, and the worker was still busy verifying the proof before.
        rest.explain(
            &verifying.intersect(&one(sent, pickup)),
            IdleCause::HostOverhead,
        );
        let lost = self.unit.lost().map(|(_, interval)| interval).collect();
        rest.explain(&lost, IdleCause::WorkerDown);
        // While an earlier attempt had it elsewhere, it was not on its way here.
        let earlier = self
            .unit
            .prove
            .iter()
            .filter(|other| other.number < attempt.number);
        let free = earlier
            .map(|other| other.last)
            .max()
            .map_or(ready, |last| last.max(ready));
        rest.explain(&one(free, fetched), IdleCause::Transfer);
        rest.explain(
            &one(story.jobs[self.job].submit, ready),
            IdleCause::SynthStarved,
        );
    }
}

/// A device with its visits, by start on the device.
#[derive(Debug, Clone)]
pub(crate) struct DeviceLane<'a> {
    pub(crate) device: String,
    pub(crate) label: Option<String>,
    pub(crate) visits: Vec<Visit<'a>>,
}

/// What is true of the whole cluster at an instant.
#[derive(Debug)]
pub(crate) struct Backlog {
    /// Some unit was submitted and its witness not finished.
    synthesizing: IntervalSet,
    /// Some unit was synthesized and not on a device.
    handing_off: IntervalSet,
    /// Some unit's attempt had gone silent.
    lost: IntervalSet,
}

impl Backlog {
    pub(crate) fn new(story: &Story, now: UnixMicros) -> Self {
        let mut synthesizing = Vec::new();
        let mut handing_off = Vec::new();
        let mut lost = Vec::new();
        for (job, unit) in story.units().filter(|(_, unit)| unit.is_partition()) {
            let job = &story.jobs[job];
            let over = job.done.unwrap_or(now);
            let ready = unit.synth.iter().find_map(|attempt| attempt.get(SynthEnd));
            let started = unit.prove.iter().find_map(|attempt| attempt.get(GpuStart));
            synthesizing.push(Interval::new(job.submit, ready.or(started).unwrap_or(over)));
            if let Some(ready) = ready {
                handing_off.push(Interval::new(ready, started.unwrap_or(over)));
            }
            lost.extend(unit.lost().map(|(_, interval)| interval));
        }
        Self {
            synthesizing: synthesizing.into_iter().collect(),
            handing_off: handing_off.into_iter().collect(),
            lost: lost.into_iter().collect(),
        }
    }
}

/// The devices of a story, by name.
pub(crate) fn lanes(story: &Story) -> Vec<DeviceLane<'_>> {
    let mut lanes: BTreeMap<&str, DeviceLane<'_>> = BTreeMap::new();
    for (job, unit) in story.units() {
        let silent: Vec<&Attempt> = unit.lost().map(|(attempt, _)| attempt).collect();
        for attempt in &unit.prove {
            if attempt.get(GpuPickup).or(attempt.get(GpuStart)).is_none() {
                continue;
            }
            let lane = lanes.entry(&attempt.device).or_insert_with(|| DeviceLane {
                device: attempt.device.clone(),
                label: None,
                visits: Vec::new(),
            });
            lane.label = lane.label.take().or_else(|| attempt.device_label.clone());
            lane.visits.push(Visit {
                job,
                unit,
                attempt,
                is_lost: silent.iter().any(|lost| std::ptr::eq(*lost, attempt)),
            });
        }
    }
    let mut lanes: Vec<_> = lanes.into_values().collect();
    for lane in &mut lanes {
        lane.visits.sort_by_key(Visit::order);
    }
    lanes
}

impl DeviceLane<'_> {
    /// The union of its visits within a window.
    pub(crate) fn busy(&self, window: Interval) -> IntervalSet {
        let visits = self
            .visits
            .iter()
            .filter_map(|visit| visit.busy(window.end));
        visits.map(|visit| visit.intersect(&window)).collect()
    }

    /// Its idle time within a window, in pieces of one cause each, in order of time.
    pub(crate) fn idle(
        &self,
        story: &Story,
        backlog: &Backlog,
        window: Interval,
    ) -> Vec<(Interval, IdleCause)> {
        let busy = self.busy(window);
        let down = self.down(story, window);
        let verifying = self
            .visits
            .iter()
            .filter_map(|visit| visit.attempt.between(GpuEnd, ProofVerified))
            .collect();
        let mut pieces = Vec::new();
        for gap in IntervalSet::of(window).minus(&busy).intervals() {
            let mut rest = Unexplained {
                rest: IntervalSet::of(*gap),
                pieces: &mut pieces,
            };
            rest.explain(&down, IdleCause::WorkerDown);
            // A visit lost at once leaves no busy time and lies within the gap; the last one here ends the gap.
            let first = self
                .visits
                .partition_point(|visit| visit.order() < gap.start);
            for next in self.visits[first..]
                .iter()
                .take_while(|visit| visit.order() <= gap.end)
            {
                next.explain(story, &verifying, &mut rest);
            }
            rest.explain(&backlog.lost, IdleCause::WorkerDown);
            rest.explain(&backlog.synthesizing, IdleCause::SynthStarved);
            // Handed off to a device, and this one is idle: it was given to another, or not given out.
            rest.explain(&backlog.handing_off, IdleCause::HostOverhead);
            rest.explain(&IntervalSet::of(*gap), IdleCause::NoWork);
        }
        pieces.sort_unstable();
        pieces
    }

    /// When the device's worker was down: from the last sign of an attempt that ended in silence to the worker's next.
    fn down(&self, story: &Story, window: Interval) -> IntervalSet {
        let lost = self.visits.iter().filter(|visit| visit.is_lost);
        lost.map(|visit| {
            let last = visit.attempt.last;
            let signs = story
                .signs
                .get(&visit.attempt.worker)
                .map_or(&[][..], Vec::as_slice);
            let next = signs
                .get(signs.partition_point(|&sign| sign <= last))
                .copied();
            Interval::new(last, next.unwrap_or(window.end))
        })
        .collect()
    }
}

/// What of a gap has no cause yet.
struct Unexplained<'a> {
    rest: IntervalSet,
    pieces: &'a mut Vec<(Interval, IdleCause)>,
}

impl Unexplained<'_> {
    fn explain(&mut self, when: &IntervalSet, cause: IdleCause) {
        let explained = self.rest.intersect(when);
        if explained.is_empty() {
            return;
        }
        self.rest = self.rest.minus(&explained);
        self.pieces
            .extend(explained.intervals().iter().map(|&piece| (piece, cause)));
    }
}

fn one(start: UnixMicros, end: UnixMicros) -> IntervalSet {
    IntervalSet::of(Interval::new(start, end))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
