//! The cluster's clock in this process.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::RwLock;

use crate::broker::{Broker, BrokerError};
use crate::protocol::UnixMicros;

/// Round trips of one measurement: the fastest one counts, and eight find a quiet moment on a busy machine.
const ROUND_TRIPS: usize = 8;
/// A correction is spread over this time, unless that would be faster than [`MAX_SLEW_DIVISOR`] allows.
const SLEW_TIME: Duration = Duration::from_secs(10);
/// The clock never runs more than 1/20 fast or slow while it corrects itself, so it never runs backwards and durations
/// stay right within 5 % even after the server's clock was set.
const MAX_SLEW_DIVISOR: u64 = 20;
/// How far two machines' oscillators may part, parts per million: an old measurement is worth less.
const DRIFT_PPM: u128 = 100;
/// Segments kept, so that an instant before the last corrections reads as it did then.
const KEPT_SEGMENTS: usize = 64;

/// Cluster time (Redis `TIME`) anchored to this process's monotonic clock: a step of the wall clock changes nothing.
///
/// Corrections are slewed: the clock never steps and never runs backwards. Cheap to clone; all clones share the anchor.
#[derive(Debug, Clone)]
pub struct ClusterClock {
    segments: Arc<RwLock<Segments>>,
}

/// One measurement of the cluster's clock.
#[derive(Debug, Clone, Copy)]
pub struct ClockSample {
    /// Middle of the round trip.
    pub instant: Instant,
    /// What the cluster's clock showed then, give or take `uncertainty`.
    pub cluster: UnixMicros,
    /// Half the round trip.
    pub uncertainty: Duration,
    /// Local wall clock minus cluster clock, microseconds; for the record only.
    pub wall_offset_micros: i64,
}

#[derive(Debug)]
struct Segments {
    /// By start, oldest first; never empty.
    segments: VecDeque<Segment>,
    last: ClockSample,
}

/// A stretch of time with one rate of correction.
#[derive(Debug, Clone, Copy)]
struct Segment {
    instant: Instant,
    cluster: UnixMicros,
    /// Microseconds to be gained (or lost, if negative) over `slew_time`.
    correction: i64,
    slew_time: Duration,
}

impl ClockSample {
    /// Takes the best of several round trips: `sample` asks the server for its time.
    ///
    /// # Errors
    /// The error of `sample`, if no round trip succeeded.
    pub async fn measure<E>(sample: impl AsyncFn() -> Result<UnixMicros, E>) -> Result<Self, E> {
        let mut best = Self::round_trip(&sample).await;
        for _ in 1..ROUND_TRIPS {
            let next = Self::round_trip(&sample).await;
            let is_better = match (&next, &best) {
                (Ok(next), Ok(best)) => next.uncertainty < best.uncertainty,
                (Ok(_), Err(_)) => true,
                (Err(_), _) => false,
            };
            if is_better {
                best = next;
            }
        }
        best
    }

    async fn round_trip<E>(sample: &impl AsyncFn() -> Result<UnixMicros, E>) -> Result<Self, E> {
        let asked = Instant::now();
        let cluster = sample().await?;
        let uncertainty = asked.elapsed() / 2;
        let wall = wall_clock();
        let middle = wall.0.saturating_sub(micros(uncertainty));
        Ok(Self {
            instant: asked + uncertainty,
            cluster,
            uncertainty,
            wall_offset_micros: difference(UnixMicros(middle), cluster),
        })
    }
}

impl ClusterClock {
    /// Makes a clock that reads `cluster` now, give or take `uncertainty`; `wall_offset_micros` is what the local wall
    /// clock showed above it, for the record.
    #[must_use]
    pub fn anchored(cluster: UnixMicros, uncertainty: Duration, wall_offset_micros: i64) -> Self {
        Self::from_sample(ClockSample {
            instant: Instant::now(),
            cluster,
            uncertainty,
            wall_offset_micros,
        })
    }

    /// Makes a clock of one measurement.
    #[must_use]
    pub fn from_sample(sample: ClockSample) -> Self {
        let segment = Segment {
            instant: sample.instant,
            cluster: sample.cluster,
            correction: 0,
            slew_time: Duration::ZERO,
        };
        let segments = Segments {
            segments: VecDeque::from([segment]),
            last: sample,
        };
        Self {
            segments: Arc::new(RwLock::new(segments)),
        }
    }

    /// Makes a clock that follows a broker's.
    ///
    /// # Errors
    /// The broker's, if no round trip succeeded.
    pub async fn measure(broker: &dyn Broker) -> Result<Self, BrokerError> {
        ClockSample::measure(async || broker.now().await)
            .await
            .map(Self::from_sample)
    }

    /// Measures again and corrects the clock, slewing.
    ///
    /// # Errors
    /// The broker's, if no round trip succeeded; the clock then runs on as it was.
    pub async fn refresh(&self, broker: &dyn Broker) -> Result<(), BrokerError> {
        let sample = ClockSample::measure(async || broker.now().await).await?;
        self.correct(sample);
        Ok(())
    }

    /// Steers the clock towards a measurement, without a step. A measurement so rough that it allows everything the
    /// clock already says teaches nothing and is left.
    pub fn correct(&self, sample: ClockSample) {
        let mut segments = self.segments.write();
        let error = difference(sample.cluster, segments.at(sample.instant));
        let aged = segments.uncertainty_at(sample.instant);
        if Duration::from_micros(error.unsigned_abs()) + aged <= sample.uncertainty {
            return;
        }
        segments.steer(Instant::now(), sample);
    }

    /// The cluster's time now.
    #[must_use]
    pub fn now(&self) -> UnixMicros {
        self.at(Instant::now())
    }

    /// The cluster's time at an instant of this process.
    #[must_use]
    pub fn at(&self, instant: Instant) -> UnixMicros {
        self.segments.read().at(instant)
    }

    /// How far this clock may be off now: half the round trip behind it, what has drifted since, and what is still
    /// being corrected.
    #[must_use]
    pub fn uncertainty(&self) -> Duration {
        self.segments.read().uncertainty_at(Instant::now())
    }

    /// Local wall clock minus cluster clock at the last measurement, microseconds.
    #[must_use]
    pub fn wall_offset_micros(&self) -> i64 {
        self.segments.read().last.wall_offset_micros
    }
}

impl Segments {
    fn at(&self, instant: Instant) -> UnixMicros {
        let segment = self
            .segments
            .iter()
            .rev()
            .find(|segment| segment.instant <= instant);
        match segment {
            Some(segment) => segment.at(instant),
            None => {
                let first = self.segments[0];
                let earlier = first.instant.duration_since(instant);
                UnixMicros(first.cluster.0.saturating_sub(micros(earlier)))
            }
        }
    }

    fn uncertainty_at(&self, instant: Instant) -> Duration {
        let age = instant.saturating_duration_since(self.last.instant);
        let drift = u64::try_from(age.as_micros() * DRIFT_PPM / 1_000_000).unwrap_or(u64::MAX);
        let pending = self
            .segments
            .back()
            .map_or(0, |segment| segment.pending_at(instant));
        self.last
            .uncertainty
            .saturating_add(Duration::from_micros(drift))
            .saturating_add(Duration::from_micros(pending))
    }

    fn steer(&mut self, now: Instant, sample: ClockSample) {
        let reading = self.at(now);
        let target = sample
            .cluster
            .plus(now.saturating_duration_since(sample.instant));
        let correction = difference(target, reading);
        let slowest =
            Duration::from_micros(correction.unsigned_abs().saturating_mul(MAX_SLEW_DIVISOR));
        if self.segments.len() == KEPT_SEGMENTS {
            self.segments.pop_front();
        }
        self.segments.push_back(Segment {
            instant: now,
            cluster: reading,
            correction,
            slew_time: slowest.max(SLEW_TIME),
        });
        self.last = sample;
    }
}

impl Segment {
    fn at(&self, instant: Instant) -> UnixMicros {
        let elapsed = instant.saturating_duration_since(self.instant);
        let plain = self.cluster.plus(elapsed);
        UnixMicros(plain.0.saturating_add_signed(self.corrected(elapsed)))
    }

    /// Microseconds of the correction that are done after `elapsed`.
    fn corrected(&self, elapsed: Duration) -> i64 {
        if elapsed >= self.slew_time {
            return self.correction;
        }
        let done = i128::from(self.correction) * i128::from(micros(elapsed))
            / i128::from(micros(self.slew_time).max(1));
        i64::try_from(done).unwrap_or(self.correction)
    }

    /// Microseconds of the correction that are still to come.
    fn pending_at(&self, instant: Instant) -> u64 {
        let elapsed = instant.saturating_duration_since(self.instant);
        self.correction.abs_diff(self.corrected(elapsed))
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// `a − b` in microseconds.
fn difference(a: UnixMicros, b: UnixMicros) -> i64 {
    i64::try_from(i128::from(a.0) - i128::from(b.0)).unwrap_or(i64::MAX)
}

/// This machine's wall clock: read here only, to say how far it is from the cluster's, and by the broker that has no
/// server to ask.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the wall clock; everything else asks ClusterClock"
)]
pub fn wall_clock() -> UnixMicros {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    UnixMicros(since.map_or(0, micros))
}

#[cfg(test)]
mod tests;
