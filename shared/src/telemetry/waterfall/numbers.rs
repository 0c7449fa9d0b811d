//! The numbers beside and below the picture.

use std::time::Duration;

use super::paint::{Mark, Style};
use super::{LABEL_WIDTH, pad, push_trimmed};
use crate::protocol::UnixMicros;
use crate::telemetry::TimelineEvent::{
    ChanSent, FetchEnd, GpuEnd, GpuPickup, GpuStart, ProofVerified, SynthEnd, SynthStart,
};
use crate::telemetry::utilisation::passage::{Attempt, JobPassage, UnitPassage};
use crate::telemetry::utilisation::{Utilisation, WindowStart};

/// Columns of the table of times.
const COLUMNS: [&str; 7] = ["synth", "send", "wait", "fetch", "prove", "verify", "total"];
/// Room of one column: six digits of milliseconds and a blank.
const COLUMN_WIDTH: usize = 7;
/// Room of the table.
pub(super) const TABLE_WIDTH: usize = COLUMNS.len() * COLUMN_WIDTH;
/// Columns of a bar that shows a share, where the width allows it.
const SHARE_COLUMNS: usize = 25;
/// Room for the numbers beside such a bar.
const SHARE_NUMBERS: usize = 34;
/// Devices listed below the picture; beyond that only their mean.
const MAX_DEVICES: usize = 16;

/// The head of the table of times.
pub(super) fn header() -> String {
    COLUMNS
        .map(|column| format!("{column:>COLUMN_WIDTH$}"))
        .concat()
}

/// A unit's times in milliseconds: of the attempts that gave the proof, and in all since the job was submitted.
pub(super) fn times(job: &JobPassage, unit: &UnitPassage) -> String {
    let prove = unit.decisive_prove();
    let pickup = prove.and_then(|prove| prove.get(GpuPickup));
    let synth = unit.synth_before(pickup);
    let between = |attempt: Option<&Attempt>, from, to| {
        attempt
            .and_then(|attempt| attempt.between(from, to))
            .map(|interval| interval.duration())
    };
    let sent = synth.and_then(|synth| synth.get(ChanSent));
    let handed = sent.zip(pickup).map(|(sent, pickup)| pickup.since(sent));
    let queued = between(prove, FetchEnd, GpuStart);
    let wait = match (handed, queued) {
        (None, None) => None,
        (handed, queued) => Some(handed.unwrap_or_default() + queued.unwrap_or_default()),
    };
    let verified = prove.and_then(|prove| prove.get(ProofVerified));
    let cells = [
        between(synth, SynthStart, SynthEnd),
        between(synth, SynthEnd, ChanSent),
        wait,
        between(prove, GpuPickup, FetchEnd),
        between(prove, GpuStart, GpuEnd),
        between(prove, GpuEnd, ProofVerified),
    ];
    let mut row = String::new();
    for cell in cells {
        row += &format!(
            "{:>COLUMN_WIDTH$}",
            cell.map_or_else(|| "-".to_owned(), millis)
        );
    }
    row + &format!("{:>COLUMN_WIDTH$}", total(job, verified))
}

fn total(job: &JobPassage, verified: Option<UnixMicros>) -> String {
    match (verified, &job.state, job.done) {
        (Some(verified), ..) => millis(verified.since(job.submit)),
        (None, Some(state), _) => state.chars().take(COLUMN_WIDTH - 1).collect(),
        (None, None, Some(_)) => "ended".to_owned(),
        (None, None, None) => "runs".to_owned(),
    }
}

/// Everything below the picture.
pub(super) fn push_summary(out: &mut String, usage: &Utilisation, style: Style, width: usize) {
    let room = width - LABEL_WIDTH;
    push_devices(out, usage, style, room);
    push_idle(out, usage, style, room);
    let workers = usage.gpu_workers.iter().chain(&usage.synth_workers);
    let workers =
        workers.map(|worker| format!("{} {}", worker.worker, percent(worker.busy_fraction)));
    push_text(
        out,
        "worker busy",
        &workers.collect::<Vec<_>>().join(" · "),
        room,
    );
    push_text(out, "handoff", &handoff(usage), room);
    push_text(out, "window", &window(usage), room);
    for (index, line) in wrapped(&usage.verdict.sentence, room).iter().enumerate() {
        let label = if index == 0 { "verdict" } else { "" };
        push_labelled(out, label, &style.bold(line));
    }
}

fn push_devices(out: &mut String, usage: &Utilisation, style: Style, room: usize) {
    let window = span(usage.window.bounds.duration());
    let columns = share_columns(room);
    for device in usage.devices.iter().take(MAX_DEVICES) {
        let bar = style.share(Mark::Prove, device.busy_fraction, columns);
        let name = match &device.label {
            Some(label) => format!("{}, {label}", device.device),
            None => device.device.clone(),
        };
        let numbers = format!(
            "{:>8}   {:>8} of {window}   ",
            percent(device.busy_fraction),
            span(device.busy)
        );
        let left = room.saturating_sub(columns + numbers.chars().count());
        let name: String = name.chars().take(left).collect();
        push_labelled(out, "device busy", &format!("{bar}{numbers}{name}"));
    }
    if usage.devices.len() > 1 {
        let bar = style.share(Mark::Prove, usage.device_busy, columns);
        let count = usage.devices.len();
        let numbers = format!(
            "{:>8}   mean of {count} devices",
            percent(usage.device_busy)
        );
        push_labelled(out, "device busy", &format!("{bar}{numbers}"));
    }
}

fn push_idle(out: &mut String, usage: &Utilisation, style: Style, room: usize) {
    let whole = usage.window.bounds.duration().as_secs_f64() * usage.devices.len() as f64;
    for (index, (cause, time)) in usage.idle.by_size().into_iter().enumerate() {
        let share = if whole > 0.0 {
            time.as_secs_f64() / whole
        } else {
            0.0
        };
        let bar = style.share(Mark::Idle(cause), share, share_columns(room));
        let label = if index == 0 { "device idle" } else { "" };
        push_labelled(
            out,
            label,
            &format!("{bar}{:>8}   {:>8} {cause}", percent(share), span(time)),
        );
    }
}

fn share_columns(room: usize) -> usize {
    room.saturating_sub(SHARE_NUMBERS).min(SHARE_COLUMNS)
}

fn handoff(usage: &Utilisation) -> String {
    let stages = &usage.stages;
    if stages.send.count == 0 && stages.fetch.count == 0 {
        return String::new();
    }
    let parts = [
        ("encode", stages.encode),
        ("send", stages.send),
        ("wait", stages.wait),
        ("fetch", stages.fetch),
    ];
    let parts = parts.map(|(name, part)| format!("{name} {}", span(part.p50)));
    format!("{} (medians)", parts.join(" · "))
}

fn window(usage: &Utilisation) -> String {
    let from = match usage.window.from {
        WindowStart::FirstEvent => "first event",
        WindowStart::FirstPickup => "first GPU_PICKUP",
    };
    let to = if usage.proofs > 0 {
        "PROOF_VERIFIED"
    } else {
        "event"
    };
    format!(
        "{} from the {from} to the last {to}",
        span(usage.window.bounds.duration())
    )
}

/// A labelled text, broken at blanks; nothing if the text is empty.
fn push_text(out: &mut String, label: &str, text: &str, room: usize) {
    for (index, line) in wrapped(text, room).iter().enumerate() {
        push_labelled(out, if index == 0 { label } else { "" }, line);
    }
}

fn push_labelled(out: &mut String, label: &str, text: &str) {
    push_trimmed(out, &format!("{}{text}", pad(label, LABEL_WIDTH)));
}

/// Breaks a text at blanks into lines of at most `width` characters; a longer word stands alone.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `1 job`, `3 jobs`.
pub(super) fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// A share with one digit after the point.
pub(super) fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

/// A time with its unit and three significant digits.
pub(super) fn span(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 10.0 => format!("{s:.1} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 0.01 => format!("{:.0} ms", s * 1e3),
        s if s >= 0.001 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} µs", s * 1e6),
    }
}

/// Milliseconds that fit a column of the table.
fn millis(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    match millis {
        m if m >= 999_999.5 => format!("{:.0}s", m / 1e3),
        m if m >= 9.95 || m == 0.0 => format!("{m:.0}"),
        m => format!("{m:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_three_significant_digits() {
        for (micros, text) in [
            (7, "7 µs"),
            (4_240, "4.2 ms"),
            (84_000, "84 ms"),
            (8_420_000, "8.42 s"),
            (124_000_000, "124 s"),
        ] {
            assert_eq!(span(Duration::from_micros(micros)), text);
        }
        for (micros, text) in [
            (0, "0"),
            (440, "0.4"),
            (12_400, "12"),
            (1_204_000, "1204"),
            (5_000_000_000, "5000s"),
        ] {
            assert_eq!(millis(Duration::from_micros(micros)), text);
        }
    }

    #[test]
    fn long_sentences_are_broken_at_blanks() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(
            wrapped("incomprehensible word", 5),
            ["incomprehensible", "word"]
        );
    }
}
