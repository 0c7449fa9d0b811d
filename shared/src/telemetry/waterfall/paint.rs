//! Cells, glyphs and colours: what each kind of time looks like.

use crate::telemetry::utilisation::{IdleCause, Utilisation};

/// A kind of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Synth,
    Send,
    Wait,
    Fetch,
    Prove,
    Verify,
    Lost,
    Idle(IdleCause),
}

/// One column of a bar: a kind of time, and the tag of the row it belongs to where that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cell {
    pub(super) mark: Option<Mark>,
    pub(super) tag: Option<char>,
}

impl Mark {
    const fn glyph(self) -> char {
        match self {
            Self::Synth => '▓',
            Self::Send => '›',
            Self::Wait => '·',
            Self::Fetch => '‹',
            Self::Prove => '█',
            Self::Verify => '✓',
            Self::Lost => 'x',
            Self::Idle(cause) => match cause {
                IdleCause::NoWork => '_',
                IdleCause::SynthStarved => 's',
                IdleCause::Transfer => 't',
                IdleCause::KeyLoad => 'k',
                IdleCause::HostOverhead => 'h',
                IdleCause::WorkerDown => 'x',
            },
        }
    }

    /// Of the 256 colours: readable on dark and light grounds alike.
    const fn colour(self) -> u8 {
        match self {
            Self::Synth => 75,
            Self::Send => 214,
            Self::Wait => 244,
            Self::Fetch => 180,
            Self::Prove => 71,
            Self::Verify => 141,
            Self::Lost => 196,
            Self::Idle(cause) => match cause {
                IdleCause::NoWork => 240,
                IdleCause::SynthStarved => 75,
                IdleCause::Transfer => 214,
                IdleCause::KeyLoad => 170,
                IdleCause::HostOverhead => 137,
                IdleCause::WorkerDown => 196,
            },
        }
    }

    /// True for work, drawn as a filled block; waiting is drawn as a mark on the ground.
    const fn is_filled(self) -> bool {
        matches!(
            self,
            Self::Synth | Self::Send | Self::Fetch | Self::Prove | Self::Verify
        )
    }
}

/// With or without ANSI escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    is_coloured: bool,
}

impl Style {
    pub(super) const fn new(is_coloured: bool) -> Self {
        Self { is_coloured }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.escaped("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.escaped("2", text)
    }

    /// A mark as the legend shows it.
    pub(super) fn mark(self, mark: Mark) -> String {
        self.bar(&[Cell {
            mark: Some(mark),
            tag: None,
        }])
    }

    /// A share drawn as a bar of eighths of a column, in a mark's colour.
    pub(super) fn share(self, mark: Mark, fraction: f64, columns: usize) -> String {
        let eighths = (fraction.clamp(0.0, 1.0) * columns as f64 * 8.0).round();
        let full = (eighths / 8.0).floor();
        let rest = eighths - full * 8.0;
        let partial = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉']
            .into_iter()
            .zip(0u8..)
            .find_map(|(glyph, eighth)| (f64::from(eighth) >= rest).then_some(glyph));
        let mut bar = String::new();
        for column in 0..columns {
            let at = column as f64;
            bar.push(match partial {
                _ if at < full => '█',
                Some(glyph) if at < full + 1.0 => glyph,
                _ => ' ',
            });
        }
        self.escaped(&format!("38;5;{}", mark.colour()), &bar)
    }

    /// A bar: without colours each kind of time has its glyph, with colours work is a solid block.
    pub(super) fn bar(self, cells: &[Cell]) -> String {
        let mut bar = String::new();
        for run in cells.chunk_by(|a, b| a.mark == b.mark) {
            let Some(mark) = run[0].mark else {
                bar.extend(run.iter().map(|_| ' '));
                continue;
            };
            // A block of two or more columns is solid; a single one shows its glyph.
            let is_solid = self.is_coloured && mark.is_filled() && run.len() > 1;
            let fill = if is_solid { ' ' } else { mark.glyph() };
            let text: String = run.iter().map(|cell| cell.tag.unwrap_or(fill)).collect();
            let colour = mark.colour();
            let code = if mark.is_filled() {
                format!("30;48;5;{colour}")
            } else {
                format!("38;5;{colour}")
            };
            bar += &self.escaped(&code, &text);
        }
        bar
    }

    fn escaped(self, code: &str, text: &str) -> String {
        if self.is_coloured && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Columns a text takes on a terminal, without its escapes.
pub(super) fn visible_width(text: &str) -> usize {
    let mut width = 0;
    let mut is_escape = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => is_escape = true,
            'm' if is_escape => is_escape = false,
            _ if is_escape => {}
            _ => width += 1,
        }
    }
    width
}

/// Lines of the legend: marks that occur, with their meaning.
pub(super) fn legend(
    usage: &Utilisation,
    has_lost: bool,
) -> Vec<(&'static str, Vec<(Mark, String)>)> {
    let work = [
        (Mark::Synth, "synth"),
        (Mark::Send, "send"),
        (Mark::Wait, "wait"),
        (Mark::Fetch, "fetch"),
        (Mark::Prove, "prove"),
        (Mark::Verify, "verify"),
    ];
    let lost = has_lost.then_some((Mark::Lost, "lost"));
    let work = work.into_iter().chain(lost);
    let work = work
        .map(|(mark, meaning)| (mark, meaning.to_owned()))
        .collect();
    let causes = usage.idle.by_size();
    let idle: Vec<_> = causes
        .into_iter()
        .map(|(cause, _)| (Mark::Idle(cause), cause.to_string()))
        .collect();
    let mut lines = vec![("", work)];
    if !idle.is_empty() {
        lines.push(("idle device", idle));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_drawn_to_an_eighth_of_a_column() {
        let plain = Style::new(false);
        assert_eq!(plain.share(Mark::Prove, 0.5, 5), "██▌  ");
        assert_eq!(plain.share(Mark::Prove, 1.0, 3), "███");
        assert_eq!(plain.share(Mark::Prove, 0.0, 3), "   ");
        assert_eq!(plain.share(Mark::Prove, 7.0, 2), "██");
    }

    #[test]
    fn escapes_take_no_room() {
        let text = Style::new(true).bold("wide");
        assert!(text.len() > 4);
        assert_eq!(visible_width(&text), 4);
    }
}
