use std::cell::Cell;

use super::*;

const START: UnixMicros = UnixMicros(1_700_000_000_000_000);

fn sample(instant: Instant, cluster: UnixMicros, uncertainty_micros: u64) -> ClockSample {
    ClockSample {
        instant,
        cluster,
        uncertainty: Duration::from_micros(uncertainty_micros),
        wall_offset_micros: 0,
    }
}

/// A clock anchored at an instant in the past, so that tests can look around it without waiting.
fn clock_at(instant: Instant) -> ClusterClock {
    ClusterClock::from_sample(sample(instant, START, 100))
}

/// `start` plus milliseconds.
fn ms(start: Instant, millis: u64) -> Instant {
    start + Duration::from_millis(millis)
}

#[tokio::test]
async fn the_fastest_round_trip_counts() {
    let calls = Cell::new(0u32);
    let measured = ClockSample::measure(async || {
        calls.set(calls.get() + 1);
        if calls.get() != 3 {
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        Ok::<_, BrokerError>(UnixMicros(u64::from(calls.get())))
    })
    .await
    .unwrap();
    assert_eq!(calls.get() as usize, ROUND_TRIPS);
    assert_eq!(measured.cluster, UnixMicros(3));
    assert!(measured.uncertainty < Duration::from_millis(1));
}

#[tokio::test]
async fn a_measurement_survives_failed_round_trips_and_fails_if_all_do() {
    let calls = Cell::new(0u32);
    let measured = ClockSample::measure(async || {
        calls.set(calls.get() + 1);
        if calls.get() == 5 {
            Ok(START)
        } else {
            Err("down")
        }
    })
    .await;
    assert_eq!(measured.unwrap().cluster, START);
    let failed = ClockSample::measure(async || Err::<UnixMicros, _>("down")).await;
    assert_eq!(failed.unwrap_err(), "down");
}

#[tokio::test]
async fn the_offset_of_the_wall_clock_is_said() {
    let measured =
        ClockSample::measure(async || Ok::<_, BrokerError>(UnixMicros(wall_clock().0 + 3_000_000)))
            .await
            .unwrap();
    assert!((measured.wall_offset_micros + 3_000_000).abs() < 50_000);
}

#[test]
fn the_clock_runs_with_the_monotonic_clock_both_ways() {
    let start = Instant::now();
    let clock = clock_at(start);
    assert_eq!(clock.at(ms(start, 5)), UnixMicros(START.0 + 5_000));
    if let Some(earlier) = start.checked_sub(Duration::from_millis(5)) {
        assert_eq!(clock.at(earlier), UnixMicros(START.0 - 5_000));
    }
}

#[test]
fn a_small_error_is_corrected_over_ten_seconds_without_a_step() {
    let start = Instant::now();
    let clock = clock_at(start);
    clock
        .segments
        .write()
        .steer(start, sample(start, UnixMicros(START.0 + 2_000), 50));
    assert_eq!(clock.at(start), START);
    assert_eq!(
        clock.at(ms(start, 5_000)),
        UnixMicros(START.0 + 5_000_000 + 1_000)
    );
    assert_eq!(
        clock.at(ms(start, 10_000)),
        UnixMicros(START.0 + 10_000_000 + 2_000)
    );
    assert_eq!(
        clock.at(ms(start, 20_000)),
        UnixMicros(START.0 + 20_000_000 + 2_000)
    );
}

#[test]
fn a_clock_that_is_seconds_ahead_slows_down_and_never_runs_backwards() {
    let start = Instant::now();
    let clock = clock_at(start);
    clock
        .segments
        .write()
        .steer(start, sample(start, UnixMicros(START.0 - 3_000_000), 50));
    let mut before = clock.at(start);
    for step in 1..=700u64 {
        let now = clock.at(ms(start, step * 100));
        assert!(now > before, "step {step}");
        before = now;
    }
    assert_eq!(before, UnixMicros(START.0 + 70_000_000 - 3_000_000));
}

#[test]
fn instants_before_a_correction_read_as_they_did_then() {
    let start = Instant::now();
    let clock = clock_at(start);
    let read_then = clock.at(ms(start, 500));
    clock.segments.write().steer(
        ms(start, 1_000),
        sample(ms(start, 1_000), UnixMicros(START.0 + 1_050_000), 50),
    );
    clock.segments.write().steer(
        ms(start, 1_500),
        sample(ms(start, 1_500), UnixMicros(START.0 + 1_450_000), 50),
    );
    assert_eq!(clock.at(ms(start, 500)), read_then);
    assert!(clock.at(ms(start, 1_499)) <= clock.at(ms(start, 1_500)));
}

#[test]
fn a_rough_measurement_that_agrees_changes_nothing() {
    let start = Instant::now();
    let clock = clock_at(start);
    clock.correct(sample(start, UnixMicros(START.0 + 4_000), 5_000));
    assert_eq!(clock.segments.read().segments.len(), 1);
    clock.correct(sample(start, UnixMicros(START.0 + 4_000), 50));
    assert_eq!(clock.segments.read().segments.len(), 2);
    assert!(
        clock.uncertainty() >= Duration::from_micros(3_000),
        "the pending correction counts"
    );
}

#[test]
fn only_the_last_corrections_are_kept() {
    let start = Instant::now();
    let clock = clock_at(start);
    for step in 1..200u64 {
        let at = ms(start, step);
        let target = UnixMicros(START.0 + step * 1_000 + 500);
        clock.segments.write().steer(at, sample(at, target, 1));
    }
    assert_eq!(clock.segments.read().segments.len(), KEPT_SEGMENTS);
}
