//! Busy and idle, never one number for two things.
//!
//! *Layout*: `interval` (sets of time), `moment` (one event), `passage` (each unit's way), `cause` (of idle
//! time), `device` (busy and idle of one device), `stages` (how long each step takes), `verdict` (one sentence with its numbers). All pure.
//!
//! Definitions, within a stated window:
//! - **device busy**: the union of GPU_START..GPU_END on a device (fact `gpu`, else the worker is the device).
//! - **worker busy**: the union of GPU_PICKUP..PROOF_VERIFIED on a worker, less the part of FETCH_END..GPU_START in
//!   which another proof had the device.
//! - **idle** of a device: the window less device busy, every instant under one [`IdleCause`].
//! - **synthesis busy**: the union of SYNTH_START..SYNTH_END on a synth worker.
//!
//! An attempt that ended in silence while another followed counts as busy up to its last event only; one that still
//! runs counts up to the window's end.

mod cause;
mod device;
mod interval;
mod moment;
pub(crate) mod passage;
mod stages;
mod verdict;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

pub use self::cause::{IdleCause, IdleSplit};
pub(crate) use self::device::{Backlog, DeviceLane, lanes};

pub use self::interval::{Interval, IntervalSet};
pub use self::moment::Moment;
pub(crate) use self::passage::Story;
pub use self::stages::{StageTimes, Summary};
pub use self::verdict::{Bottleneck, Verdict};
use super::TimelineEvent::{FetchEnd, GpuPickup, GpuStart, ProofVerified, SynthEnd, SynthStart};
use super::TimelineRecord;
use crate::protocol::UnixMicros;

/// Where the window begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowStart {
    /// At the first event, usually JOB_SUBMIT: what a client waits for.
    #[default]
    FirstEvent,
    /// At the first GPU_PICKUP: what the device could have done from then on.
    FirstPickup,
}

/// What to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UtilisationOptions {
    /// Where the window begins.
    pub from: WindowStart,
    /// Cut off from there, so that filling the pipeline does not count.
    pub warm_up: Duration,
}

/// The window, stated with every number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Where it begins.
    pub from: WindowStart,
    /// What was cut off there.
    #[serde(serialize_with = "as_seconds")]
    pub warm_up: Duration,
    /// Its bounds; the end is the last PROOF_VERIFIED, else the last event.
    pub bounds: Interval,
}

/// Use of one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceUse {
    /// Its name in the timeline.
    pub device: String,
    /// What it is called.
    pub label: Option<String>,
    /// Proofs verified on it within the window.
    pub proofs: usize,
    /// How long it was busy.
    #[serde(serialize_with = "as_seconds")]
    pub busy: Duration,
    /// The same as a fraction of the window.
    pub busy_fraction: f64,
    /// Its idle time by cause.
    pub idle: IdleSplit,
}

/// Use of one worker.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkerUse {
    /// The worker.
    pub worker: String,
    /// How long it was busy.
    #[serde(serialize_with = "as_seconds")]
    pub busy: Duration,
    /// The same as a fraction of the window.
    pub busy_fraction: f64,
}

/// Use of the cluster over a window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Utilisation {
    /// The window all numbers are about.
    pub window: Window,
    /// Each device.
    pub devices: Vec<DeviceUse>,
    /// Mean of the devices' busy fractions; 0 without a device.
    pub device_busy: f64,
    /// Each GPU worker.
    pub gpu_workers: Vec<WorkerUse>,
    /// Mean of the GPU workers' busy fractions.
    pub worker_busy: f64,
    /// Each synth worker.
    pub synth_workers: Vec<WorkerUse>,
    /// Idle time of all devices by cause.
    pub idle: IdleSplit,
    /// Proofs verified within the window.
    pub proofs: usize,
    /// How long the steps took.
    pub stages: StageTimes,
    /// The bottleneck in one sentence.
    pub verdict: Verdict,
}

impl Utilisation {
    /// Analyses timeline records of any number of jobs, in any order.
    #[must_use]
    pub fn of_records(records: &[TimelineRecord], options: UtilisationOptions) -> Self {
        let moments: Vec<Moment> = records.iter().map(Moment::from).collect();
        Self::of_moments(&moments, options)
    }

    /// Analyses moments, wherever they come from.
    #[must_use]
    pub fn of_moments(moments: &[Moment], options: UtilisationOptions) -> Self {
        Self::of_story(&Story::new(moments), options)
    }

    pub(crate) fn of_story(story: &Story, options: UtilisationOptions) -> Self {
        let window = window(story, options);
        let bounds = window.bounds;
        let backlog = Backlog::new(story, bounds.end);
        let lanes = lanes(story);
        let mut idle = IdleSplit::default();
        let mut devices = Vec::new();
        for lane in &lanes {
            let usage = device_use(lane, story, &backlog, bounds);
            idle.add_all(&usage.idle);
            devices.push(usage);
        }
        let gpu_workers = gpu_workers(&lanes, bounds);
        let synth_workers = synth_workers(story, bounds);
        let stages = StageTimes::new(story, bounds);
        let mut utilisation = Self {
            window,
            device_busy: mean(devices.iter().map(|device| device.busy_fraction)),
            worker_busy: mean(gpu_workers.iter().map(|worker| worker.busy_fraction)),
            proofs: devices.iter().map(|device| device.proofs).sum(),
            devices,
            gpu_workers,
            synth_workers,
            idle,
            stages,
            verdict: Verdict::none(),
        };
        utilisation.verdict = Verdict::of(&utilisation);
        utilisation
    }
}

fn window(story: &Story, options: UtilisationOptions) -> Window {
    let span = story
        .span
        .unwrap_or(Interval::new(UnixMicros(0), UnixMicros(0)));
    let proving = || story.units().flat_map(|(_, unit)| &unit.prove);
    let pickup = proving().filter_map(|attempt| attempt.get(GpuPickup)).min();
    let verified = proving()
        .filter_map(|attempt| attempt.get(ProofVerified))
        .max();
    let start = match options.from {
        WindowStart::FirstEvent => span.start,
        WindowStart::FirstPickup => pickup.unwrap_or(span.start),
    };
    let end = verified.unwrap_or(span.end);
    let start = start.plus(options.warm_up).min(end);
    Window {
        from: options.from,
        warm_up: options.warm_up,
        bounds: Interval::new(start, end),
    }
}

fn device_use(
    lane: &DeviceLane<'_>,
    story: &Story,
    backlog: &Backlog,
    window: Interval,
) -> DeviceUse {
    let mut idle = IdleSplit::default();
    for (piece, cause) in lane.idle(story, backlog, window) {
        idle.add(cause, piece.duration());
    }
    let busy = lane.busy(window).duration();
    let verified = lane
        .visits
        .iter()
        .filter_map(|visit| visit.attempt.get(ProofVerified));
    DeviceUse {
        device: lane.device.clone(),
        label: lane.label.clone(),
        proofs: verified
            .filter(|at| (window.start..=window.end).contains(at))
            .count(),
        busy,
        busy_fraction: fraction(busy, window),
        idle,
    }
}

fn gpu_workers(lanes: &[DeviceLane<'_>], window: Interval) -> Vec<WorkerUse> {
    let mut busy: BTreeMap<&str, Vec<Interval>> = BTreeMap::new();
    for lane in lanes {
        let on_device = lane.busy(window);
        for visit in &lane.visits {
            let attempt = visit.attempt;
            let worker = busy.entry(&attempt.worker).or_default();
            let Some(held) = attempt.running(GpuPickup, ProofVerified, visit.is_lost, window.end)
            else {
                continue;
            };
            let own = visit.busy(window.end).into_iter().collect();
            let queued = attempt
                .between(FetchEnd, GpuStart)
                .into_iter()
                .collect::<IntervalSet>();
            let behind_another = queued.intersect(&on_device).minus(&own);
            let rest = IntervalSet::of(held.intersect(&window)).minus(&behind_another);
            worker.extend_from_slice(rest.intervals());
        }
    }
    worker_uses(busy, window)
}

fn synth_workers(story: &Story, window: Interval) -> Vec<WorkerUse> {
    let mut busy: BTreeMap<&str, Vec<Interval>> = BTreeMap::new();
    for (_, unit) in story.units() {
        for attempt in &unit.synth {
            let is_lost = unit.lost().any(|(lost, _)| std::ptr::eq(lost, attempt));
            if let Some(run) = attempt.running(SynthStart, SynthEnd, is_lost, window.end) {
                busy.entry(&attempt.worker)
                    .or_default()
                    .push(run.intersect(&window));
            }
        }
    }
    worker_uses(busy, window)
}

fn worker_uses(busy: BTreeMap<&str, Vec<Interval>>, window: Interval) -> Vec<WorkerUse> {
    let uses = busy.into_iter().map(|(worker, intervals)| {
        let busy = IntervalSet::from_iter(intervals).duration();
        WorkerUse {
            worker: worker.to_owned(),
            busy,
            busy_fraction: fraction(busy, window),
        }
    });
    uses.collect()
}

fn fraction(part: Duration, window: Interval) -> f64 {
    let whole = window.duration();
    if whole.is_zero() {
        0.0
    } else {
        part.as_secs_f64() / whole.as_secs_f64()
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len();
    if count == 0 {
        0.0
    } else {
        values.sum::<f64>() / count as f64
    }
}

fn as_seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

#[cfg(test)]
mod tests;
