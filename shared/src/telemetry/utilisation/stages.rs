//! How long each step took, over all units of a window.

use std::time::Duration;

use serde::Serialize;

use super::passage::{Attempt, Story, UnitPassage};
use super::{Interval, as_seconds};
use crate::telemetry::TimelineEvent::{
    ChanSend, ChanSent, FetchEnd, GpuEnd, GpuPickup, GpuStart, ProofVerified, SynthEnd, SynthStart,
};

/// Durations of one step, summed up. Quantiles are by nearest rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// Their mean.
    #[serde(serialize_with = "as_seconds")]
    pub mean: Duration,
    /// Half took no longer.
    #[serde(serialize_with = "as_seconds")]
    pub p50: Duration,
    /// 95 of 100 took no longer.
    #[serde(serialize_with = "as_seconds")]
    pub p95: Duration,
    /// 99 of 100 took no longer.
    #[serde(serialize_with = "as_seconds")]
    pub p99: Duration,
    /// The longest.
    #[serde(serialize_with = "as_seconds")]
    pub max: Duration,
}

/// Durations of the steps of every unit whose proof was verified within the window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct StageTimes {
    /// SYNTH_START..SYNTH_END.
    pub synth: Summary,
    /// SYNTH_END..CHAN_SEND.
    pub encode: Summary,
    /// CHAN_SEND..CHAN_SENT.
    pub send: Summary,
    /// CHAN_SENT..GPU_PICKUP; zero where the GPU worker picked up while chunks still arrived.
    pub wait: Summary,
    /// GPU_PICKUP..FETCH_END.
    pub fetch: Summary,
    /// FETCH_END..GPU_START.
    pub gpu_wait: Summary,
    /// GPU_START..GPU_END.
    pub prove: Summary,
    /// GPU_END..PROOF_VERIFIED.
    pub verify: Summary,
}

impl Summary {
    /// Sums up some durations.
    #[must_use]
    pub fn of(mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        let Some(&max) = durations.last() else {
            return Self::default();
        };
        let count = durations.len();
        let total: Duration = durations.iter().sum();
        let quantile = |percent: usize| durations[(count * percent).div_ceil(100).max(1) - 1];
        Self {
            count,
            mean: Duration::from_secs_f64(total.as_secs_f64() / count as f64),
            p50: quantile(50),
            p95: quantile(95),
            p99: quantile(99),
            max,
        }
    }
}

impl StageTimes {
    pub(super) fn new(story: &Story, window: Interval) -> Self {
        let mut proved: Vec<(&UnitPassage, &Attempt)> = Vec::new();
        for (_, unit) in story.units() {
            let Some(prove) = unit.decisive_prove() else {
                continue;
            };
            let verified = prove.get(ProofVerified);
            if verified.is_some_and(|at| (window.start..=window.end).contains(&at)) {
                proved.push((unit, prove));
            }
        }
        let synths: Vec<(&Attempt, &Attempt)> = proved
            .iter()
            .filter_map(|(unit, prove)| Some((unit.synth_before(prove.get(GpuPickup))?, *prove)))
            .collect();
        let of_synth = |from, to| {
            summary(
                synths
                    .iter()
                    .filter_map(|(synth, _)| synth.between(from, to)),
            )
        };
        let of_prove = |from, to| {
            summary(
                proved
                    .iter()
                    .filter_map(|(_, prove)| prove.between(from, to)),
            )
        };
        let waits = synths.iter().filter_map(|(synth, prove)| {
            Some(Interval::new(synth.get(ChanSent)?, prove.get(GpuPickup)?))
        });
        Self {
            synth: of_synth(SynthStart, SynthEnd),
            encode: of_synth(SynthEnd, ChanSend),
            send: of_synth(ChanSend, ChanSent),
            wait: summary(waits),
            fetch: of_prove(GpuPickup, FetchEnd),
            gpu_wait: of_prove(FetchEnd, GpuStart),
            prove: of_prove(GpuStart, GpuEnd),
            verify: of_prove(GpuEnd, ProofVerified),
        }
    }
}

fn summary(intervals: impl Iterator<Item = Interval>) -> Summary {
    Summary::of(intervals.map(|interval| interval.duration()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let summary = Summary::of((1..=100).map(Duration::from_millis).collect());
        assert_eq!(summary.p50, Duration::from_millis(50));
        assert_eq!(summary.p95, Duration::from_millis(95));
        assert_eq!(summary.p99, Duration::from_millis(99));
        assert_eq!(summary.max, Duration::from_millis(100));
        assert_eq!(summary.mean, Duration::from_micros(50_500));
        assert_eq!(
            Summary::of(vec![Duration::from_millis(7)]).p50,
            Duration::from_millis(7)
        );
        assert_eq!(Summary::of(Vec::new()), Summary::default());
    }
}
