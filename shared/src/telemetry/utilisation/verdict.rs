//! The bottleneck in one sentence, with the numbers behind it.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{IdleCause, Utilisation};

/// A device busier than this is the bottleneck itself: the rest is noise of starting and ending.
const DEVICE_BOUND: f64 = 0.9;
/// Enough parallel syntheses keep a device fed with this much to spare, since their times vary.
const SYNTH_HEADROOM: f64 = 1.1;

/// What holds the cluster back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// Nothing was proved: there is nothing to judge.
    Unknown,
    /// The devices are busy.
    Device,
    /// The devices wait for witnesses.
    Synthesis,
    /// The devices wait for assignments on their way.
    Handoff,
    /// The devices wait for proving keys.
    KeyLoad,
    /// The devices wait for their hosts.
    Host,
    /// The devices wait for workers that went silent.
    WorkerLoss,
    /// The devices wait for jobs.
    Load,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unknown => "unknown",
            Self::Device => "device-bound",
            Self::Synthesis => "synthesis-bound",
            Self::Handoff => "handoff-bound",
            Self::KeyLoad => "key-bound",
            Self::Host => "host-bound",
            Self::WorkerLoss => "held up by lost workers",
            Self::Load => "under-loaded",
        })
    }
}

/// The judgement over a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// What holds the cluster back.
    pub bottleneck: Bottleneck,
    /// The same in one sentence with its numbers.
    pub sentence: String,
}

impl Verdict {
    pub(super) fn none() -> Self {
        Self {
            bottleneck: Bottleneck::Unknown,
            sentence: "nothing was proved in this window".to_owned(),
        }
    }

    /// Judges by the devices: busy ones are the bottleneck, else the largest cause of their idle time is.
    pub(super) fn of(usage: &Utilisation) -> Self {
        let largest = usage.idle.by_size().first().copied();
        if usage.proofs == 0 {
            return Self::none();
        }
        let (bottleneck, advice) = match largest {
            _ if usage.device_busy >= DEVICE_BOUND => (Bottleneck::Device, device_advice(usage)),
            None => (Bottleneck::Device, device_advice(usage)),
            Some((IdleCause::SynthStarved, _)) => (Bottleneck::Synthesis, synth_advice(usage)),
            Some((IdleCause::Transfer, _)) => (Bottleneck::Handoff, handoff_advice(usage)),
            Some((IdleCause::KeyLoad, _)) => (
                Bottleneck::KeyLoad,
                "keep the keys of busy circuits resident".to_owned(),
            ),
            Some((IdleCause::HostOverhead, _)) => (Bottleneck::Host, host_advice(usage)),
            Some((IdleCause::WorkerDown, _)) => (
                Bottleneck::WorkerLoss,
                "see which worker went silent, and why".to_owned(),
            ),
            Some((IdleCause::NoWork, _)) => {
                (Bottleneck::Load, "submit more jobs at a time".to_owned())
            }
        };
        let idle = match largest {
            Some((cause, time)) => format!(
                ", and idle {} a proof, most of it {cause} ({})",
                per_proof(usage),
                share(usage, time)
            ),
            None => String::new(),
        };
        let busy = usage.device_busy * 100.0;
        let sentence = format!(
            "{bottleneck}: the device was busy {busy:.1} % of {}{idle}; {advice}",
            seconds(window_seconds(usage))
        );
        Self {
            bottleneck,
            sentence,
        }
    }
}

fn device_advice(usage: &Utilisation) -> String {
    let prove = seconds(usage.stages.prove.mean.as_secs_f64());
    format!("proving takes {prove}, so only another or a faster device gives more proofs")
}

fn synth_advice(usage: &Utilisation) -> String {
    let (synth, prove) = (
        usage.stages.synth.mean.as_secs_f64(),
        usage.stages.prove.mean.as_secs_f64(),
    );
    let took = format!(
        "synthesis takes {}, proving {}",
        seconds(synth),
        seconds(prove)
    );
    if prove <= 0.0 {
        return took;
    }
    let devices = usage.devices.len().max(1);
    let needed = (synth * SYNTH_HEADROOM / prove * devices as f64)
        .ceil()
        .max(1.0);
    let device = if devices == 1 {
        "the device"
    } else {
        "the devices"
    };
    let workers = usage.synth_workers.len();
    if usage.proofs == 1 {
        return format!("{took}: one job alone must wait for its synthesis");
    }
    format!(
        "{took}: about {needed:.0} syntheses at a time would feed {device}, {workers} synth worker{} ran",
        plural(workers)
    )
}

fn handoff_advice(usage: &Utilisation) -> String {
    let stages = &usage.stages;
    let parts = [
        ("encoding", stages.encode.mean),
        ("sending", stages.send.mean),
        ("waiting", stages.wait.mean),
        ("fetching", stages.fetch.mean),
    ];
    let parts = parts.map(|(part, mean)| format!("{part} {}", seconds(mean.as_secs_f64())));
    format!("a handoff takes {}", parts.join(", "))
}

fn host_advice(usage: &Utilisation) -> String {
    let verify = seconds(usage.stages.verify.mean.as_secs_f64());
    format!("verifying takes {verify}: give the GPU host more processor time, or let it prefetch")
}

fn per_proof(usage: &Utilisation) -> String {
    seconds(usage.idle.total().as_secs_f64() / usage.proofs.max(1) as f64)
}

fn share(usage: &Utilisation, time: Duration) -> String {
    let total = usage.idle.total().as_secs_f64();
    let percent = if total > 0.0 {
        time.as_secs_f64() / total * 100.0
    } else {
        0.0
    };
    format!(
        "{} in all, {percent:.0} % of the idle time",
        seconds(time.as_secs_f64())
    )
}

fn window_seconds(usage: &Utilisation) -> f64 {
    usage.window.bounds.duration().as_secs_f64()
}

/// Seconds with three significant digits, milliseconds below one.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 10.0 => format!("{s:.1} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 0.1 => format!("{:.0} ms", s * 1_000.0),
        s => format!("{:.1} ms", s * 1_000.0),
    }
}

const fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
