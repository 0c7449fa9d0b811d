//! Deadlines as clients write them: an instant, or a time from now.

use std::time::Duration;

use proofmill_shared::config::{HumanDuration, UnitError};
use proofmill_shared::protocol::UnixMicros;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    pub(crate) fn resolve(&self, now: UnixMicros) -> Result<UnixMicros, UnitError> {
        match self {
            Self::At(micros) => Ok(UnixMicros(*micros)),
            Self::Within(text) => parse_duration(text).map(|duration| now.plus(duration)),
        }
    }
}

/// Reads a duration such as `500ms`, `30s` or `10m`.
///
/// # Errors
/// The [`UnitError`] for anything else, a number without a unit included.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    text.parse().map(HumanDuration::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_an_instant_or_a_time_from_now() {
        let now = UnixMicros(1_000_000);
        assert_eq!(Deadline::from_query("42").resolve(now), Ok(UnixMicros(42)));
        assert_eq!(
            Deadline::from_query("2s").resolve(now),
            Ok(UnixMicros(3_000_000))
        );
        assert!(Deadline::from_query("soon").resolve(now).is_err());
        assert!(Deadline::from_query("-5").resolve(now).is_err());
    }
}
