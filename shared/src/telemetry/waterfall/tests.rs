use super::*;
use crate::telemetry::LoggedTimeline;

fn draw(log: &str, options: WaterfallOptions) -> String {
    let timeline = LoggedTimeline::parse(log);
    assert_eq!(timeline.malformed, 0, "the test's log reads");
    let moments: Vec<Moment> = timeline.events.iter().map(Moment::from).collect();
    render_moments(&moments, options)
}

const THREE: &str = "
    TIMELINE JOB_SUBMIT 0 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11
    TIMELINE JOB_SUBMIT 5 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b12
    TIMELINE SYNTH_START 10 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=plan worker=synth-1
    TIMELINE SYNTH_END 60 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=plan worker=synth-1
    TIMELINE SYNTH_START 60 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=0 worker=synth-1
    TIMELINE SYNTH_END 1260 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=0 worker=synth-1
    TIMELINE CHAN_SEND 1264 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=0 worker=synth-1
    TIMELINE CHAN_SENT 1280 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=0 worker=synth-1
    TIMELINE GPU_PICKUP 1284 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=0 worker=gpu-1
    TIMELINE FETCH_END 1296 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=0 worker=gpu-1
    TIMELINE GPU_START 1696 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=0 worker=gpu-1 key_load_ms=380 device=\"cpu (2 threads)\"
    TIMELINE GPU_END 2596 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=0 worker=gpu-1
    TIMELINE PROOF_VERIFIED 2600 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=0 worker=gpu-1
    TIMELINE SYNTH_START 1280 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=1 worker=synth-1
    TIMELINE SYNTH_END 2500 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=1 worker=synth-1
    TIMELINE CHAN_SEND 2504 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=1 worker=synth-1
    TIMELINE CHAN_SENT 2520 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=1 worker=synth-1
    TIMELINE GPU_PICKUP 2524 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=1 worker=gpu-1
    TIMELINE FETCH_END 2540 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=1 worker=gpu-1
    TIMELINE GPU_START 2600 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=1 worker=gpu-1
    TIMELINE GPU_END 3500 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=1 worker=gpu-1
    TIMELINE PROOF_VERIFIED 3504 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 unit=1 worker=gpu-1
    TIMELINE SYNTH_START 2520 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b12 unit=0 attempt=1 worker=synth-1
    TIMELINE SYNTH_ASSIGN 3300 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b12 unit=0 attempt=2 worker=synth-2
    TIMELINE SYNTH_START 3320 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b12 unit=0 attempt=2 worker=synth-2
    TIMELINE SYNTH_END 4520 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b12 unit=0 attempt=2 worker=synth-2
    TIMELINE CHAN_SEND 4524 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b12 unit=0 attempt=2 worker=synth-2
    TIMELINE CHAN_SENT 4540 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b12 unit=0 attempt=2 worker=synth-2
    TIMELINE GPU_PICKUP 4544 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b12 unit=0 worker=gpu-1
    TIMELINE FETCH_END 4560 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b12 unit=0 worker=gpu-1
    TIMELINE GPU_START 4560 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b12 unit=0 worker=gpu-1
    TIMELINE GPU_END 5460 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b12 unit=0 worker=gpu-1
    TIMELINE PROOF_VERIFIED 5464 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b12 unit=0 worker=gpu-1
    TIMELINE JOB_DONE 5470 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b12 state=succeeded
";

#[test]
fn a_small_timeline_is_drawn_as_it_should_be() {
    let options = WaterfallOptions {
        width: 118,
        ..WaterfallOptions::default()
    };
    let drawn = draw(THREE, options);
    let golden = include_str!("golden.txt");
    assert!(drawn == golden, "drawn:\n{drawn}\nexpected:\n{golden}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [MIN_WIDTH, 80, 99, 100, 140, MAX_WIDTH] {
        for is_coloured in [false, true] {
            let options = WaterfallOptions {
                width,
                is_coloured,
                max_rows: 2,
            };
            for line in draw(THREE, options).lines() {
                assert!(paint::visible_width(line) <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn colours_change_the_look_and_no_number() {
    let plain = WaterfallOptions::default();
    let coloured = WaterfallOptions {
        is_coloured: true,
        ..plain
    };
    assert!(!draw(THREE, plain).contains('\u{1b}'));
    let drawn = draw(THREE, coloured);
    assert!(
        drawn.contains("\u{1b}[30;48;5;71m"),
        "proofs are solid green"
    );
    assert_eq!(
        drawn.matches("\u{1b}[0m").count() * 2,
        drawn.matches('\u{1b}').count()
    );
    let row = "  1200     20    404     12    900    4.0   2600";
    for number in ["49.4 % busy", "2.28 s synth-starved", row] {
        assert!(drawn.contains(number), "{number}");
        assert!(draw(THREE, plain).contains(number), "{number}");
    }
}

#[test]
fn every_step_of_a_row_is_visible_however_short() {
    let log = "
        TIMELINE SYNTH_START 0 a
        TIMELINE SYNTH_END 50000 a
        TIMELINE CHAN_SEND 50001 a
        TIMELINE CHAN_SENT 50002 a
        TIMELINE GPU_PICKUP 50003 a
        TIMELINE FETCH_END 50004 a
        TIMELINE GPU_START 50004 a
        TIMELINE GPU_END 99999 a
        TIMELINE PROOF_VERIFIED 100000 a
    ";
    let drawn = draw(log, WaterfallOptions::default());
    let row = drawn.lines().find(|line| line.starts_with("1 a")).unwrap();
    let mut steps: Vec<char> = row.chars().filter(|step| "▓›‹█✓".contains(*step)).collect();
    steps.dedup();
    assert_eq!(steps, ['▓', '›', '‹', '█', '✓']);
}

#[test]
fn rows_beyond_the_limit_are_counted() {
    let mut log = String::new();
    for job in 0..50 {
        let end = job + 5;
        log +=
            &format!("TIMELINE SYNTH_START {job} job_{job}\nTIMELINE SYNTH_END {end} job_{job}\n");
    }
    let drawn = draw(&log, WaterfallOptions::default());
    assert!(drawn.contains("… and 10 more partitions"));
    assert!(drawn.contains("nothing was proved"));
}

#[test]
fn hostile_events_are_drawn_without_a_panic() {
    assert_eq!(
        render(&[], WaterfallOptions::default()),
        "no timeline events yet\n"
    );
    let logs = [
        "TIMELINE JOB_DONE 0 a",
        "TIMELINE GPU_END 5 a\nTIMELINE GPU_START 9 a\nTIMELINE SYNTH_END 0 a",
        "TIMELINE SYNTH_START 0 a\nTIMELINE GPU_START 18446744073709551615 a",
        "TIMELINE GPU_START 7 ééééééééééééééééééééééééé worker=üüüüüüüüüüüüüüüüüüüüüüüü key_load_ms=1e400",
        "TIMELINE GPU_START 7 a key_load_ms=-5 attempt=4294967296",
    ];
    for log in logs {
        for width in [0, 100, usize::MAX] {
            let options = WaterfallOptions {
                width,
                is_coloured: true,
                max_rows: 0,
            };
            assert!(draw(log, options).starts_with("\u{1b}[1mWaterfall"));
        }
    }
}
