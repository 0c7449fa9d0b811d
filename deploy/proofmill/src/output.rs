//! Tables for people, JSON for programs.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use comfy_table::{ContentArrangement, Table, presets};
use proofmill_shared::protocol::UnixMicros;
use serde::Serialize;
use serde_json::json;

use crate::error::CliError;

/// Where results go, and in which form.
#[derive(Debug)]
pub(crate) struct Output {
    is_json: bool,
}

impl Output {
    /// Output in JSON, or for people.
    pub(crate) const fn new(is_json: bool) -> Self {
        Self { is_json }
    }

    /// True if a person watches: progress may be drawn on standard error.
    pub(crate) fn is_watched(&self) -> bool {
        !self.is_json && io::stderr().is_terminal()
    }

    /// Prints a result: itself as JSON, or what `text` makes of it.
    pub(crate) fn print<T: Serialize>(
        &self,
        result: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), CliError> {
        let text = if self.is_json {
            serde_json::to_string_pretty(result).map_err(|error| CliError::Output(error.into()))?
        } else {
            text(result)
        };
        match writeln!(io::stdout().lock(), "{}", text.trim_end()) {
            // Whoever read has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(CliError::Output),
        }
    }

    /// Says something beside the result, to people only.
    pub(crate) fn note(&self, text: &str) {
        if !self.is_json {
            self.to_stderr(&plain(text));
        }
    }

    /// Says why the command failed.
    pub(crate) fn error(&self, error: &CliError) {
        if self.is_json {
            let message = error.message();
            let error = json!({"error": {"code": error.code(), "message": message}});
            self.to_stderr(&error.to_string());
        } else {
            self.to_stderr(&format!("proofmill: {}", plain(&error.message())));
        }
    }

    #[expect(clippy::unused_self, reason = "all output goes through one place")]
    fn to_stderr(&self, text: &str) {
        // A closed standard error leaves nobody to tell.
        drop(writeln!(io::stderr().lock(), "{text}"));
    }
}

/// A table without frames; control characters in cells cannot reach the terminal.
pub(crate) fn table<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    for row in rows {
        table.add_row(row.map(|cell| plain(&cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines: Vec<String> = table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// Columns of the terminal that results are printed to; `None` if it is none.
pub(crate) fn terminal_width() -> Option<usize> {
    Table::new().width().map(usize::from)
}

/// Text whose control characters, line breaks aside, are shown instead of obeyed.
pub(crate) fn plain(text: &str) -> String {
    let shown = |c: char| {
        if c.is_control() && c != '\n' {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(shown).collect()
}

/// A state, priority or role as the API spells it.
pub(crate) fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// A duration with three digits or so: `250 ms`, `4.20 s`, `3 min 5 s`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds >= 60 {
        format!("{} min {} s", seconds / 60, seconds % 60)
    } else if seconds >= 1 {
        format!("{:.2} s", duration.as_secs_f64())
    } else {
        format!("{} ms", duration.as_millis())
    }
}

/// An instant as `2026-12-01 04:37:15` in UTC.
pub(crate) fn utc(instant: UnixMicros) -> String {
    let seconds = instant.0 / 1_000_000;
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March here, so that the leap day is the last one. 719,468 days lie before 1970-01-01.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_shown_in_utc() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (1_796_099_835, "2026-12-01 04:37:15"),
        ] {
            assert_eq!(utc(UnixMicros(seconds * 1_000_000)), text);
        }
    }

    #[test]
    fn durations_keep_about_three_digits() {
        assert_eq!(duration(Duration::from_millis(250)), "250 ms");
        assert_eq!(duration(Duration::from_millis(4200)), "4.20 s");
        assert_eq!(duration(Duration::from_secs(185)), "3 min 5 s");
    }

    #[test]
    fn text_from_elsewhere_cannot_drive_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\nc"), "a\u{fffd}[2Jb\nc");
        let table = table(["A"], [["x\u{1b}]0;y\u{7}".to_owned()]]);
        assert!(
            !table.contains('\u{1b}') && !table.contains('\u{7}'),
            "{table:?}"
        );
    }
}
