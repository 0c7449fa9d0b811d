//! Durations and deadlines as clients write them.

use std::time::Duration;

use proofmill_shared::protocol::UnixMicros;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A duration that does not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a duration: expected a number with ms, s, m, h or d, such as 500ms, 30s or 10m"
)]
pub struct MomentError {
    text: String,
}

/// Longest duration accepted, in seconds (about 100 years), so that sums of instants stay far from overflow.
const SECONDS_MAX: u64 = 100 * 366 * 24 * 3600;

/// Reads `500ms`, `30s`, `10m`, `2h` or `7d`.
///
/// # Errors
/// [`MomentError`] if the text is anything else, a number without a unit included.
pub fn parse_duration(text: &str) -> Result<Duration, MomentError> {
    let error = || MomentError {
        text: text.to_owned(),
    };
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(error)?;
    let (digits, unit) = text.split_at(digits_end);
    let number: u64 = digits.parse().map_err(|_| error())?;
    let millis_each = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 3600 * 1000,
        "d" => 24 * 3600 * 1000,
        _ => return Err(error()),
    };
    let millis = number.checked_mul(millis_each).ok_or_else(error)?;
    if millis / 1000 > SECONDS_MAX {
        return Err(error());
    }
    Ok(Duration::from_millis(millis))
}

/// A deadline: an instant, or a time from the acceptance of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Deadline {
    /// Microseconds since the Unix epoch, on the cluster's clock.
    At(u64),
    /// A duration such as `10m`, counted from the acceptance of the job.
    Within(String),
}

impl Deadline {
    /// Reads the form that queries use: digits are an instant, anything else a duration.
    pub(crate) fn from_query(text: &str) -> Self {
        text.parse()
            .map_or_else(|_| Self::Within(text.to_owned()), Self::At)
    }

    /// The instant that is meant, if the job is accepted now.
    pub(crate) fn resolve(&self, now: UnixMicros) -> Result<UnixMicros, MomentError> {
        match self {
            Self::At(micros) => Ok(UnixMicros(*micros)),
            Self::Within(text) => parse_duration(text).map(|duration| now.plus(duration)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_number_and_a_unit() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("2h"), Ok(Duration::from_secs(7200)));
        for bad in [
            "",
            "30",
            "s",
            "-1s",
            "1.5s",
            "30 s",
            "30sec",
            "99999999999999999999s",
            "99999999999d",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn a_deadline_is_an_instant_or_a_time_from_now() {
        let now = UnixMicros(1_000_000);
        assert_eq!(Deadline::from_query("42").resolve(now), Ok(UnixMicros(42)));
        assert_eq!(
            Deadline::from_query("2s").resolve(now),
            Ok(UnixMicros(3_000_000))
        );
        assert!(Deadline::from_query("soon").resolve(now).is_err());
    }
}
