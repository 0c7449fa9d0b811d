use proptest::prelude::*;

use super::*;
use crate::telemetry::{LoggedTimeline, TimelineEvent};

fn moments(log: &str) -> Vec<Moment> {
    let timeline = LoggedTimeline::parse(log);
    assert_eq!(timeline.malformed, 0, "the test's log reads");
    timeline.events.iter().map(Moment::from).collect()
}

fn analyse(log: &str, options: UtilisationOptions) -> Utilisation {
    Utilisation::of_moments(&moments(log), options)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn idle(split: &IdleSplit) -> Vec<(IdleCause, u64)> {
    let causes =
        IdleCause::ALL.map(|cause| (cause, u64::try_from(split.get(cause).as_millis()).unwrap()));
    causes
        .into_iter()
        .filter(|(_, millis)| *millis > 0)
        .collect()
}

/// One device and one synth slot, every cause of idle time but a lost worker, with sizes that add up by hand.
const EVERY_CAUSE: &str = "
    TIMELINE JOB_SUBMIT 0 a
    TIMELINE JOB_SUBMIT 0 b
    TIMELINE SYNTH_START 0 a worker=s
    TIMELINE SYNTH_END 100 a worker=s
    TIMELINE CHAN_SEND 110 a worker=s
    TIMELINE CHAN_SENT 130 a worker=s
    TIMELINE GPU_PICKUP 140 a worker=g
    TIMELINE FETCH_END 150 a worker=g
    TIMELINE GPU_START 185 a worker=g key_load_ms=30
    TIMELINE GPU_END 285 a worker=g
    TIMELINE PROOF_VERIFIED 300 a worker=g
    TIMELINE SYNTH_START 100 b worker=s
    TIMELINE SYNTH_END 200 b worker=s
    TIMELINE CHAN_SEND 200 b worker=s
    TIMELINE CHAN_SENT 210 b worker=s
    TIMELINE GPU_PICKUP 300 b worker=g
    TIMELINE FETCH_END 310 b worker=g
    TIMELINE GPU_START 315 b worker=g
    TIMELINE GPU_END 400 b worker=g
    TIMELINE PROOF_VERIFIED 410 b worker=g
    TIMELINE JOB_SUBMIT 500 c
    TIMELINE SYNTH_START 500 c worker=s
    TIMELINE SYNTH_END 560 c worker=s
    TIMELINE CHAN_SEND 560 c worker=s
    TIMELINE CHAN_SENT 570 c worker=s
    TIMELINE GPU_PICKUP 575 c worker=g
    TIMELINE FETCH_END 580 c worker=g
    TIMELINE GPU_START 580 c worker=g
    TIMELINE GPU_END 600 c worker=g
    TIMELINE PROOF_VERIFIED 610 c worker=g
    TIMELINE JOB_DONE 620 c state=succeeded
";

#[test]
fn every_cause_of_idle_time_has_its_known_size() {
    let usage = analyse(EVERY_CAUSE, UtilisationOptions::default());
    assert_eq!(usage.window.bounds.duration(), ms(610));
    assert_eq!(usage.devices[0].busy, ms(205));
    assert_eq!(
        idle(&usage.idle),
        [
            (IdleCause::NoWork, 110),
            (IdleCause::SynthStarved, 160),
            (IdleCause::Transfer, 80),
            (IdleCause::KeyLoad, 30),
            (IdleCause::HostOverhead, 25),
        ]
    );
    assert_eq!(usage.proofs, 3);
    assert_eq!(usage.verdict.bottleneck, Bottleneck::Synthesis);
    assert_eq!(usage.stages.synth.max, ms(100));
    assert_eq!(usage.stages.wait.max, ms(90));
    assert_eq!(usage.synth_workers[0].busy, ms(260));
    // 140 to 410, then 575 to 610.
    assert_eq!(usage.gpu_workers[0].busy, ms(305));
}

#[test]
fn one_synth_slot_of_38_seconds_starves_a_device_of_26_seconds_by_12_a_proof() {
    let mut log = String::new();
    for job in 0..20u64 {
        let (start, ready) = (job * 38_000, (job + 1) * 38_000);
        let done = ready + 26_000;
        log += &format!(
            "TIMELINE,{start},SYNTH_START,job_{job},partition=0\n\
             TIMELINE,{ready},SYNTH_END,job_{job},partition=0\n\
             TIMELINE,{ready},CHAN_SEND,job_{job},partition=0\n\
             TIMELINE,{ready},GPU_PICKUP,job_{job},partition=0,gpu=0\n\
             TIMELINE,{ready},GPU_START,job_{job},partition=0,gpu=0\n\
             TIMELINE,{done},GPU_END,job_{job},partition=0,gpu=0\n\
             TIMELINE,{done},PROOF_VERIFIED,job_{job},partition=0,gpu=0\n"
        );
    }
    let from_pickup = UtilisationOptions {
        from: WindowStart::FirstPickup,
        warm_up: Duration::ZERO,
    };
    let usage = analyse(&log, from_pickup);
    assert_eq!(usage.devices[0].device, "gpu 0");
    assert_eq!(idle(&usage.idle), [(IdleCause::SynthStarved, 19 * 12_000)]);
    assert!((usage.device_busy - 520.0 / 748.0).abs() < 1e-9);
    assert_eq!(usage.verdict.bottleneck, Bottleneck::Synthesis);
    for part in [
        "synthesis-bound",
        "11.4 s a proof",
        "about 2 syntheses at a time",
        "38.0 s",
        "26.0 s",
    ] {
        assert!(
            usage.verdict.sentence.contains(part),
            "{part}: {}",
            usage.verdict.sentence
        );
    }
}

#[test]
fn a_warm_up_cut_leaves_out_what_came_before_and_is_stated() {
    let cut = UtilisationOptions {
        from: WindowStart::FirstPickup,
        warm_up: ms(100),
    };
    let usage = analyse(EVERY_CAUSE, cut);
    assert_eq!(usage.window.bounds.duration(), ms(370));
    assert_eq!(usage.devices[0].busy, ms(45 + 85 + 20));
    assert_eq!(usage.window.warm_up, ms(100));
    let beyond = UtilisationOptions {
        warm_up: ms(5_000),
        ..cut
    };
    assert_eq!(analyse(EVERY_CAUSE, beyond).device_busy, 0.0);
}

#[test]
fn a_worker_that_went_silent_shows_as_down_on_its_device_and_on_the_one_that_took_over() {
    let log = "
        TIMELINE JOB_SUBMIT 0 a
        TIMELINE SYNTH_START 0 a worker=s
        TIMELINE SYNTH_END 50 a worker=s
        TIMELINE CHAN_SEND 50 a worker=s
        TIMELINE CHAN_SENT 60 a worker=s
        TIMELINE GPU_ASSIGN 60 a attempt=1 worker=g1
        TIMELINE GPU_PICKUP 70 a attempt=1 worker=g1
        TIMELINE FETCH_END 80 a attempt=1 worker=g1
        TIMELINE GPU_START 100 a attempt=1 worker=g1
        TIMELINE GPU_ASSIGN 400 a attempt=2 worker=g2
        TIMELINE GPU_PICKUP 410 a attempt=2 worker=g2
        TIMELINE FETCH_END 420 a attempt=2 worker=g2
        TIMELINE GPU_START 420 a attempt=2 worker=g2
        TIMELINE GPU_END 500 a attempt=2 worker=g2
        TIMELINE PROOF_VERIFIED 510 a attempt=2 worker=g2
    ";
    let usage = analyse(log, UtilisationOptions::default());
    let (lost, heir) = (&usage.devices[0], &usage.devices[1]);
    assert_eq!((lost.busy, heir.busy), (ms(0), ms(80)));
    assert_eq!(
        idle(&lost.idle),
        [
            (IdleCause::SynthStarved, 50),
            (IdleCause::Transfer, 30),
            (IdleCause::HostOverhead, 20),
            (IdleCause::WorkerDown, 410),
        ]
    );
    assert_eq!(
        idle(&heir.idle),
        [
            (IdleCause::NoWork, 10),
            (IdleCause::SynthStarved, 50),
            (IdleCause::Transfer, 20),
            (IdleCause::HostOverhead, 50),
            (IdleCause::WorkerDown, 300),
        ]
    );
    assert_eq!(usage.verdict.bottleneck, Bottleneck::WorkerLoss);
}

#[test]
fn a_lost_synthesis_shows_as_worker_down() {
    let log = "
        TIMELINE JOB_SUBMIT 0 a
        TIMELINE SYNTH_ASSIGN 0 a attempt=1 worker=s1
        TIMELINE SYNTH_START 10 a attempt=1 worker=s1
        TIMELINE SYNTH_ASSIGN 510 a attempt=2 worker=s2
        TIMELINE SYNTH_START 510 a attempt=2 worker=s2
        TIMELINE SYNTH_END 600 a attempt=2 worker=s2
        TIMELINE CHAN_SEND 600 a attempt=2 worker=s2
        TIMELINE CHAN_SENT 610 a attempt=2 worker=s2
        TIMELINE GPU_PICKUP 610 a worker=g
        TIMELINE FETCH_END 610 a worker=g
        TIMELINE GPU_START 610 a worker=g
        TIMELINE GPU_END 700 a worker=g
        TIMELINE PROOF_VERIFIED 700 a worker=g
    ";
    let usage = analyse(log, UtilisationOptions::default());
    assert_eq!(
        idle(&usage.idle),
        [
            (IdleCause::SynthStarved, 100),
            (IdleCause::Transfer, 10),
            (IdleCause::WorkerDown, 500),
        ]
    );
    assert_eq!(usage.synth_workers[0].busy, ms(0));
}

#[test]
fn two_workers_on_one_device_are_not_busy_while_they_wait_for_each_other() {
    let log = "
        TIMELINE GPU_PICKUP 0 a worker=w1 gpu=0
        TIMELINE FETCH_END 0 a worker=w1 gpu=0
        TIMELINE GPU_START 0 a worker=w1 gpu=0
        TIMELINE GPU_END 100 a worker=w1 gpu=0
        TIMELINE PROOF_VERIFIED 110 a worker=w1 gpu=0
        TIMELINE GPU_PICKUP 50 b worker=w2 gpu=0
        TIMELINE FETCH_END 60 b worker=w2 gpu=0
        TIMELINE GPU_START 100 b worker=w2 gpu=0
        TIMELINE GPU_END 200 b worker=w2 gpu=0
        TIMELINE PROOF_VERIFIED 210 b worker=w2 gpu=0
    ";
    let usage = analyse(log, UtilisationOptions::default());
    assert_eq!((usage.devices.len(), usage.devices[0].busy), (1, ms(200)));
    let busy: Vec<_> = usage.gpu_workers.iter().map(|worker| worker.busy).collect();
    assert_eq!(busy, [ms(110), ms(120)]);
    assert_eq!(usage.verdict.bottleneck, Bottleneck::Device);
}

#[test]
fn a_proof_that_still_runs_is_busy_up_to_the_end_and_a_failed_one_up_to_its_failure() {
    let log = "
        TIMELINE GPU_PICKUP 0 a worker=g
        TIMELINE GPU_START 0 a worker=g
        TIMELINE GPU_END 40 a worker=g error=device-fault
        TIMELINE GPU_PICKUP 60 b worker=g
        TIMELINE GPU_START 60 b worker=g
        TIMELINE SYNTH_START 100 c worker=s
    ";
    let usage = analyse(log, UtilisationOptions::default());
    assert_eq!(usage.devices[0].busy, ms(80));
    assert_eq!(usage.verdict.bottleneck, Bottleneck::Unknown);
}

#[test]
fn nothing_gives_nothing() {
    let usage = Utilisation::of_records(&[], UtilisationOptions::default());
    assert_eq!((usage.device_busy, usage.proofs), (0.0, 0));
    assert_eq!(usage.verdict.bottleneck, Bottleneck::Unknown);
}

#[test]
fn as_json_every_cause_is_named_in_seconds() {
    let usage = analyse(EVERY_CAUSE, UtilisationOptions::default());
    let json = serde_json::to_value(&usage).unwrap();
    assert_eq!(json["idle"]["synth_starved"], 0.16);
    assert_eq!(json["idle"]["worker_down"], 0.0);
    assert_eq!(json["devices"][0]["busy"], 0.205);
    assert_eq!(json["verdict"]["bottleneck"], "synthesis");
    assert_eq!(json["window"]["from"], "first_event");
}

#[test]
fn ten_thousand_jobs_are_analysed_at_once() {
    let mut log = String::new();
    for job in 0..10_000u64 {
        let start = job * 10;
        for (event, offset) in [
            ("SYNTH_START", 0),
            ("SYNTH_END", 15),
            ("CHAN_SEND", 15),
            ("CHAN_SENT", 16),
            ("GPU_PICKUP", 20),
            ("FETCH_END", 21),
            ("GPU_START", 30),
            ("GPU_END", 39),
            ("PROOF_VERIFIED", 40),
        ] {
            log += &format!("TIMELINE {event} {} j{job}\n", start + offset);
        }
    }
    let moments = moments(&log);
    let begun = std::time::Instant::now();
    let usage = Utilisation::of_moments(&moments, UtilisationOptions::default());
    assert_eq!(usage.proofs, 10_000);
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
}

fn any_moment() -> impl Strategy<Value = Moment> {
    let events: Vec<TimelineEvent> = TimelineEvent::all().collect();
    (
        prop::sample::select(events),
        0u64..200,
        0u8..4,
        1u32..3,
        0u8..2,
        any::<bool>(),
    )
        .prop_map(|(event, at, job, attempt, worker, has_error)| {
            let mut moment = moments(&format!(
                "TIMELINE {event} {at} j{job} attempt={attempt} worker=w{worker}"
            ))
            .remove(0);
            if has_error {
                moment.fields.insert("error".into(), "x".into());
            }
            moment
        })
}

proptest! {
    #[test]
    fn whatever_the_events_busy_and_idle_make_up_the_window(moments in prop::collection::vec(any_moment(), 0..60)) {
        let usage = Utilisation::of_moments(&moments, UtilisationOptions::default());
        for device in &usage.devices {
            prop_assert_eq!(device.busy + device.idle.total(), usage.window.bounds.duration());
        }
        for worker in usage.gpu_workers.iter().chain(&usage.synth_workers) {
            prop_assert!(worker.busy <= usage.window.bounds.duration());
        }
    }
}
