//! What each worker, device and unit did when, as pieces to be drawn.

use std::collections::HashMap;

use super::numbers;
use super::paint::{Cell, Mark};
use super::scale::Scale;
use crate::protocol::UnixMicros;
use crate::telemetry::TimelineEvent::{
    ChanSent, FetchEnd, GpuEnd, GpuPickup, GpuStart, ProofVerified, SynthAssign, SynthEnd,
    SynthStart,
};
use crate::telemetry::utilisation::passage::{Attempt, JobPassage, UnitPassage};
use crate::telemetry::utilisation::{Backlog, Interval, Story, Utilisation, lanes};

/// Names a unit within the lanes: its row's tag.
const TAGS: &str = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Tag of rows past the last of [`TAGS`].
const TAG_OF_THE_REST: char = '+';
/// Characters of a long job name that are shown: the last ones, for the first ones of ids made together are equal.
const SHORT_JOB: usize = 8;

/// A line of the picture.
#[derive(Debug, Clone, Default)]
pub(super) struct Lane {
    pub(super) label: String,
    pub(super) beside: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    interval: Interval,
    mark: Mark,
    tag: Option<char>,
}

/// The rows of units, and the tag of each.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) lanes: Vec<Lane>,
    tags: HashMap<(usize, String), char>,
}

impl Rows {
    fn tag(&self, job: usize, unit: &UnitPassage) -> Option<char> {
        self.tags.get(&(job, unit.unit.clone())).copied()
    }

    /// True if some attempt was lost or failed.
    pub(super) fn has_lost(&self) -> bool {
        let mut pieces = self.lanes.iter().flat_map(|lane| &lane.pieces);
        pieces.any(|piece| piece.mark == Mark::Lost)
    }
}

impl Lane {
    fn push(&mut self, interval: Option<Interval>, mark: Mark, tag: Option<char>) {
        self.pieces.extend(interval.map(|interval| Piece {
            interval,
            mark,
            tag,
        }));
    }

    /// The bar. Long pieces first; one shorter than a column then takes a column of its neighbours, beside other short
    /// ones, so that no step is invisible.
    pub(super) fn cells(&self, scale: &Scale) -> Vec<Cell> {
        let mut cells = vec![Cell::default(); scale.columns()];
        let mut short = Vec::new();
        for piece in &self.pieces {
            match scale.place(piece.interval) {
                Some((at, _, true)) => short.push((at, piece)),
                Some((from, to, false)) => {
                    cells[from..to].fill(Cell {
                        mark: Some(piece.mark),
                        tag: None,
                    });
                    cells[from].tag = piece.tag;
                }
                None => {}
            }
        }
        let mut next_free = 0;
        short.sort_by_key(|(_, piece)| piece.interval);
        for (at, piece) in short {
            // A short wait says nothing that its neighbours do not.
            if matches!(piece.mark, Mark::Wait | Mark::Idle(_)) && cells[at].mark.is_some() {
                continue;
            }
            let at = at.max(next_free);
            let Some(cell) = cells.get_mut(at) else { break };
            let displaced = cell.tag.take();
            *cell = Cell {
                mark: Some(piece.mark),
                tag: piece.tag,
            };
            if let Some(after) = cells.get_mut(at + 1)
                && displaced.is_some()
                && after.mark.is_some()
                && after.tag.is_none()
            {
                after.tag = displaced;
            }
            next_free = at + 1;
        }
        cells
    }
}

/// A row for each partition of each job.
pub(super) fn unit_rows(story: &Story, now: UnixMicros) -> Rows {
    let mut rows = Rows::default();
    let mut tags = TAGS.chars();
    for (index, job) in story.jobs.iter().enumerate() {
        let partitions = job.units.iter().filter(|unit| unit.is_partition()).count();
        for unit in job.units.iter().filter(|unit| unit.is_partition()) {
            let tag = tags.next().unwrap_or(TAG_OF_THE_REST);
            rows.tags.insert((index, unit.unit.clone()), tag);
            rows.lanes
                .push(unit_row(tag, job, unit, partitions > 1, now));
        }
    }
    rows
}

fn unit_row(
    tag: char,
    job: &JobPassage,
    unit: &UnitPassage,
    has_siblings: bool,
    now: UnixMicros,
) -> Lane {
    let mut lane = Lane {
        label: row_label(tag, job, unit, has_siblings),
        beside: numbers::times(job, unit),
        pieces: Vec::new(),
    };
    let first = unit
        .synth
        .iter()
        .find_map(|attempt| attempt.get(SynthStart));
    let first = first.or_else(|| unit.prove.iter().find_map(|attempt| attempt.get(GpuPickup)));
    lane.push(
        first.map(|first| Interval::new(job.submit, first)),
        Mark::Wait,
        None,
    );
    let is_lost = |attempt: &Attempt| unit.lost().any(|(lost, _)| std::ptr::eq(lost, attempt));
    for attempt in &unit.synth {
        lane.push(attempt.between(SynthAssign, SynthStart), Mark::Wait, None);
        lane.push(
            attempt.running(SynthStart, SynthEnd, is_lost(attempt), now),
            Mark::Synth,
            None,
        );
        lane.push(
            attempt.running(SynthEnd, ChanSent, true, now),
            Mark::Send,
            None,
        );
    }
    for attempt in &unit.prove {
        let sent = unit
            .synth_before(attempt.get(GpuPickup))
            .and_then(|synth| synth.get(ChanSent));
        let waited = sent.zip(attempt.get(GpuPickup));
        lane.push(
            waited.map(|(sent, pickup)| Interval::new(sent, pickup)),
            Mark::Wait,
            None,
        );
        lane.push(attempt.between(GpuPickup, FetchEnd), Mark::Fetch, None);
        lane.push(attempt.between(FetchEnd, GpuStart), Mark::Wait, None);
        lane.push(
            attempt.running(GpuStart, GpuEnd, is_lost(attempt), now),
            Mark::Prove,
            None,
        );
        lane.push(attempt.between(GpuEnd, ProofVerified), Mark::Verify, None);
    }
    for (_, lost) in unit.lost() {
        lane.push(Some(lost), Mark::Lost, None);
    }
    for failed in unit
        .synth
        .iter()
        .chain(&unit.prove)
        .filter(|attempt| attempt.error.is_some())
    {
        let at = UnixMicros(failed.last.0.saturating_sub(1));
        lane.push(Some(Interval::new(at, failed.last)), Mark::Lost, None);
    }
    lane
}

fn row_label(tag: char, job: &JobPassage, unit: &UnitPassage, has_siblings: bool) -> String {
    let len = job.job.chars().count();
    let short = if len <= SHORT_JOB + 1 {
        job.job.clone()
    } else {
        format!(
            "…{}",
            job.job.chars().skip(len - SHORT_JOB).collect::<String>()
        )
    };
    let unit_name = if has_siblings {
        format!("/{}", unit.unit)
    } else {
        String::new()
    };
    let tries = unit.synth.len().max(unit.prove.len());
    let tries = if tries > 1 {
        format!(" ×{tries}")
    } else {
        String::new()
    };
    format!("{tag} {short}{unit_name}{tries}")
}

/// A lane for each synth worker: planning, synthesis (by its row's tag) and finishing.
pub(super) fn synth_lanes(
    story: &Story,
    rows: &Rows,
    usage: &Utilisation,
    now: UnixMicros,
) -> Vec<Lane> {
    let lanes = usage.synth_workers.iter().map(|worker| {
        let mut lane = Lane {
            label: worker.worker.clone(),
            beside: format!("{} busy", numbers::percent(worker.busy_fraction)),
            pieces: Vec::new(),
        };
        for (job, unit) in story.units() {
            let own = unit
                .synth
                .iter()
                .filter(|attempt| attempt.worker == worker.worker);
            for attempt in own {
                let is_lost = unit.lost().any(|(lost, _)| std::ptr::eq(lost, attempt));
                let run = attempt.running(SynthStart, SynthEnd, is_lost, now);
                lane.push(run, Mark::Synth, rows.tag(job, unit));
                lane.push(attempt.between(SynthEnd, ChanSent), Mark::Send, None);
            }
        }
        lane
    });
    lanes.collect()
}

/// A lane for each device: proofs by their row's tag, and idle time by cause.
pub(super) fn device_lanes(
    story: &Story,
    rows: &Rows,
    usage: &Utilisation,
    backlog: &Backlog,
) -> Vec<Lane> {
    let window = usage.window.bounds;
    let devices = lanes(story).into_iter().zip(&usage.devices);
    let lanes = devices.map(|(device, use_of_it)| {
        let proofs = numbers::counted(use_of_it.proofs, "proof");
        let mut lane = Lane {
            label: device.device.clone(),
            beside: format!(
                "{} busy · {proofs}",
                numbers::percent(use_of_it.busy_fraction)
            ),
            pieces: Vec::new(),
        };
        for (piece, cause) in device.idle(story, backlog, window) {
            lane.push(Some(piece), Mark::Idle(cause), None);
        }
        for visit in &device.visits {
            lane.push(
                visit.busy(window.end),
                Mark::Prove,
                rows.tag(visit.job, visit.unit),
            );
        }
        lane
    });
    lanes.collect()
}
