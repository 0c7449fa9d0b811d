//! Time to columns, and the axis above them.

use std::time::Duration;

use crate::telemetry::utilisation::Interval;

/// Columns between two ticks at least, so that their labels stay apart.
const MIN_TICK_COLUMNS: u64 = 9;

/// A stretch of time drawn over some columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    span: Interval,
    columns: usize,
}

impl Scale {
    pub(super) const fn new(span: Interval, columns: usize) -> Self {
        Self { span, columns }
    }

    pub(super) const fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn duration(&self) -> Duration {
        self.span.duration()
    }

    /// Time that one column stands for.
    pub(super) fn column(&self) -> Duration {
        Duration::from_micros(self.micros() / self.columns as u64)
    }

    /// The columns an interval covers, rounded, and whether it is shorter than the column it then gets; `None` if it
    /// holds no time that is shown.
    pub(super) fn place(&self, interval: Interval) -> Option<(usize, usize, bool)> {
        let shown = interval.intersect(&self.span);
        if shown.is_empty() {
            return None;
        }
        let from = self
            .round(shown.start.since(self.span.start))
            .min(self.columns - 1);
        let is_short =
            shown.duration().as_micros() * (self.columns as u128) < u128::from(self.micros());
        let to = if is_short {
            from + 1
        } else {
            self.round(shown.end.since(self.span.start))
        };
        Some((from, to.max(from + 1), is_short))
    }

    /// Labels and ticks of the axis, as wide as the scale.
    pub(super) fn axis(&self) -> (String, String) {
        let step = self.tick_micros();
        let mut labels = vec![' '; self.columns];
        let mut ticks = vec!['─'; self.columns];
        for micros in (0..=self.micros()).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            let at = self.round(Duration::from_micros(micros));
            let label: Vec<char> = tick_label(micros, step).chars().collect();
            if at + label.len() > self.columns {
                break;
            }
            ticks[at] = '┬';
            labels[at..at + label.len()].copy_from_slice(&label);
        }
        (labels.into_iter().collect(), ticks.into_iter().collect())
    }

    /// The smallest of 1, 2, 5, 10, … milliseconds (or fractions) whose ticks stay apart.
    fn tick_micros(&self) -> u64 {
        let least = self.micros().saturating_mul(MIN_TICK_COLUMNS) / self.columns as u64;
        let mut power = 1u64;
        loop {
            let step = [1, 2, 5]
                .into_iter()
                .map(|digit| digit * power)
                .find(|&step| step >= least.max(1));
            match (step, power.checked_mul(10)) {
                (Some(step), _) => return step,
                (None, Some(next)) => power = next,
                (None, None) => return u64::MAX,
            }
        }
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.span.duration().as_micros())
            .unwrap_or(u64::MAX)
            .max(1)
    }

    fn round(&self, from_start: Duration) -> usize {
        let (micros, whole) = (from_start.as_micros(), u128::from(self.micros()));
        let column = (micros * self.columns as u128 * 2 + whole) / (whole * 2);
        usize::try_from(column)
            .unwrap_or(self.columns)
            .min(self.columns)
    }
}

fn tick_label(micros: u64, step: u64) -> String {
    match micros {
        0 => "0".to_owned(),
        _ if step >= 1_000_000 => format!("{} s", micros / 1_000_000),
        _ if step >= 100_000 => format!("{:.1} s", micros as f64 / 1e6),
        _ if step >= 1_000 => format!("{} ms", micros / 1_000),
        _ => format!("{micros} µs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::UnixMicros;

    fn scale(micros: u64, columns: usize) -> Scale {
        Scale::new(Interval::new(UnixMicros(0), UnixMicros(micros)), columns)
    }

    fn interval(start: u64, end: u64) -> Interval {
        Interval::new(UnixMicros(start), UnixMicros(end))
    }

    #[test]
    fn intervals_are_placed_by_rounding_and_short_ones_get_a_column() {
        let scale = scale(100_000, 50);
        assert_eq!(scale.place(interval(0, 100_000)), Some((0, 50, false)));
        assert_eq!(scale.place(interval(10_900, 21_100)), Some((5, 11, false)));
        assert_eq!(scale.place(interval(10_000, 10_100)), Some((5, 6, true)));
        assert_eq!(scale.place(interval(99_999, 200_000)), Some((49, 50, true)));
        assert_eq!(scale.place(interval(5, 5)), None);
    }

    #[test]
    fn ticks_are_round_numbers_that_stay_apart() {
        let (labels, ticks) = scale(8_420_000, 60).axis();
        assert_eq!(
            labels.trim_end(),
            "0             2 s            4 s           6 s           8 s"
        );
        assert_eq!(ticks.chars().filter(|&tick| tick == '┬').count(), 5);
        assert_eq!(ticks.chars().count(), 60);
        for micros in [1, 7, 1_000, 999_999, 86_400_000_000, u64::MAX / 1_000] {
            let (labels, ticks) = scale(micros, 40).axis();
            assert_eq!(
                (labels.chars().count(), ticks.chars().count()),
                (40, 40),
                "{micros}"
            );
        }
    }
}
