//! The picture: jobs and devices over time, in text.
//!
//! *Layout*: `scale` (time to columns, the axis), `paint` (cells, glyphs, colours), `lanes` (what each worker, device
//! and unit did when), `numbers` (what stands beside and below the picture). Pure: records in, text out.

mod lanes;
mod numbers;
mod paint;
mod scale;

use self::lanes::{Lane, device_lanes, synth_lanes, unit_rows};
use self::paint::Style;
use self::scale::Scale;
use super::TimelineRecord;
use super::utilisation::{Backlog, Moment, Story, Utilisation, UtilisationOptions};

/// Names and the table of times need as much.
const MIN_WIDTH: usize = LABEL_WIDTH + numbers::TABLE_WIDTH + 2;
/// Wider than this, the eye loses the line.
const MAX_WIDTH: usize = 240;
/// From this width on, each unit's times stand beside its bar, else below the picture.
const NUMBERS_BESIDE_WIDTH: usize = 100;
/// Room for names at the left.
const LABEL_WIDTH: usize = 17;

/// How the picture is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaterfallOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// True for ANSI colours (256 colours).
    pub is_coloured: bool,
    /// Rows of units drawn at most, and lanes of workers; what is left out is counted.
    pub max_rows: usize,
}

impl Default for WaterfallOptions {
    /// 100 columns, no colours, 40 rows.
    fn default() -> Self {
        Self {
            width: 100,
            is_coloured: false,
            max_rows: 40,
        }
    }
}

/// Draws the waterfall of any number of jobs: lanes of workers and devices, a row for each partition, and below them
/// how busy the devices were and why they were idle.
#[must_use]
pub fn render(records: &[TimelineRecord], options: WaterfallOptions) -> String {
    let moments: Vec<Moment> = records.iter().map(Moment::from).collect();
    render_moments(&moments, options)
}

/// As [`render`], of moments wherever they come from.
#[must_use]
pub fn render_moments(moments: &[Moment], options: WaterfallOptions) -> String {
    let story = Story::new(moments);
    let Some(span) = story.span else {
        return "no timeline events yet\n".to_owned();
    };
    let usage = Utilisation::of_story(&story, UtilisationOptions::default());
    let backlog = Backlog::new(&story, usage.window.bounds.end);
    let width = options.width.clamp(MIN_WIDTH, MAX_WIDTH);
    let has_numbers_beside = width >= NUMBERS_BESIDE_WIDTH;
    let beside = if has_numbers_beside {
        numbers::TABLE_WIDTH
    } else {
        0
    };
    let picture = Picture {
        scale: Scale::new(span, width - LABEL_WIDTH - beside - 1),
        style: Style::new(options.is_coloured),
        max_rows: options.max_rows.max(1),
        width,
    };
    let rows = unit_rows(&story, span.end);
    let mut lanes = synth_lanes(&story, &rows, &usage, span.end);
    lanes.extend(device_lanes(&story, &rows, &usage, &backlog));

    let mut out = String::new();
    picture.push_title(&mut out, &story, &usage);
    picture.push_axis(&mut out);
    picture.push_lanes(&mut out, &lanes, has_numbers_beside, "workers");
    let table = if has_numbers_beside {
        numbers::header()
    } else {
        String::new()
    };
    picture.push_line(&mut out, "", "", &table);
    picture.push_lanes(&mut out, &rows.lanes, has_numbers_beside, "partitions");
    out.push('\n');
    picture.push_legend(&mut out, &usage, &rows);
    if !has_numbers_beside {
        picture.push_table(&mut out, &rows.lanes);
    }
    out.push('\n');
    numbers::push_summary(&mut out, &usage, picture.style, width);
    out
}

struct Picture {
    scale: Scale,
    style: Style,
    max_rows: usize,
    width: usize,
}

impl Picture {
    fn push_title(&self, out: &mut String, story: &Story, usage: &Utilisation) {
        let (jobs, proofs) = (story.jobs.len(), usage.proofs);
        let title = format!(
            "Waterfall · {} · {} · {}",
            numbers::counted(jobs, "job"),
            numbers::counted(proofs, "proof"),
            numbers::span(self.scale.duration()),
        );
        let column = format!("one column is {}", numbers::span(self.scale.column()));
        let taken = title.chars().count() + column.chars().count();
        let right = match self.width.checked_sub(taken).filter(|&gap| gap > 1) {
            Some(gap) => format!("{}{}", " ".repeat(gap), self.style.dim(&column)),
            None => String::new(),
        };
        push_trimmed(out, &format!("{}{right}", self.style.bold(&title)));
        out.push('\n');
    }

    fn push_axis(&self, out: &mut String) {
        let (labels, ticks) = self.scale.axis();
        self.push_line(out, "", &self.style.dim(&labels), "");
        self.push_line(out, "", &self.style.dim(&ticks), "");
    }

    fn push_lanes(&self, out: &mut String, lanes: &[Lane], has_numbers: bool, what: &str) {
        for lane in lanes.iter().take(self.max_rows) {
            let bar = self.style.bar(&lane.cells(&self.scale));
            let beside = if has_numbers {
                lane.beside.as_str()
            } else {
                ""
            };
            self.push_line(out, &lane.label, &bar, beside);
        }
        if let Some(more) = lanes
            .len()
            .checked_sub(self.max_rows)
            .filter(|&more| more > 0)
        {
            push_trimmed(out, &self.style.dim(&format!("… and {more} more {what}")));
        }
    }

    /// The times of each unit, where they do not fit beside its bar.
    fn push_table(&self, out: &mut String, rows: &[Lane]) {
        out.push('\n');
        push_trimmed(
            out,
            &format!("{}{}", pad("times in ms", LABEL_WIDTH), numbers::header()),
        );
        for row in rows.iter().take(self.max_rows) {
            push_trimmed(
                out,
                &format!("{}{}", pad(&row.label, LABEL_WIDTH), row.beside),
            );
        }
    }

    fn push_legend(&self, out: &mut String, usage: &Utilisation, rows: &lanes::Rows) {
        for (name, entries) in paint::legend(usage, rows.has_lost()) {
            let mut line = pad(name, LABEL_WIDTH);
            let mut room = self.width - LABEL_WIDTH;
            for (mark, meaning) in entries {
                let needed = meaning.chars().count() + 2;
                if needed > room {
                    push_trimmed(out, &line);
                    line = pad("", LABEL_WIDTH);
                    room = self.width - LABEL_WIDTH;
                }
                line += &format!("{} {meaning}   ", self.style.mark(mark));
                room = room.saturating_sub(needed + 3);
            }
            push_trimmed(out, &line);
        }
    }

    /// One line: label, bar (as wide as the scale, whatever escapes it holds), numbers.
    fn push_line(&self, out: &mut String, label: &str, bar: &str, beside: &str) {
        let shown = paint::visible_width(bar);
        let fill = " ".repeat(self.scale.columns().saturating_sub(shown));
        push_trimmed(
            out,
            &format!("{}{bar}{fill} {beside}", pad(label, LABEL_WIDTH)),
        );
    }
}

/// Pads or cuts a name to a width; what is cut ends in an ellipsis.
fn pad(text: &str, width: usize) -> String {
    let len = text.chars().count();
    if len < width {
        return format!("{text}{}", " ".repeat(width - len));
    }
    let kept: String = text.chars().take(width.saturating_sub(2)).collect();
    format!("{kept}… ")
}

fn push_trimmed(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests;
