//! Values with units: byte sizes such as `512MiB`, durations such as `5s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A value whose unit or number does not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Not a byte size.
    #[error(
        "expected a byte size such as 512MiB: a whole number and one of B, KiB, MiB, GiB, TiB, kB, MB, GB, TB"
    )]
    ByteSize,
    /// Not a duration.
    #[error("expected a duration such as 5s: a whole number and one of ms, s, m, h, d")]
    Duration,
    /// More than fits.
    #[error("the value is too large")]
    TooLarge,
}

/// A number of bytes. Binary units (`KiB`, `MiB`, …) are powers of 1024, decimal ones (`kB`, `MB`, …) of 1000; a bare
/// number means bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct ByteSize(u64);

/// Units of a byte size; the first of a power is the one that [`ByteSize`] writes.
const BYTE_UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

impl ByteSize {
    /// This many bytes.
    #[must_use]
    pub const fn bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// This many times 1,048,576 bytes.
    #[must_use]
    pub const fn mebibytes(mebibytes: u32) -> Self {
        Self((mebibytes as u64) << 20)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The number of bytes as a length in memory; the largest length where it does not fit.
    #[must_use]
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text).ok_or(UnitError::ByteSize)?;
        let factor = match unit {
            "" => 1,
            unit => BYTE_UNITS
                .iter()
                .find_map(|(name, factor)| (*name == unit).then_some(*factor))
                .ok_or(UnitError::ByteSize)?,
        };
        let number: u64 = number.parse().map_err(|_| UnitError::TooLarge)?;
        number
            .checked_mul(factor)
            .map(Self)
            .ok_or(UnitError::TooLarge)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = BYTE_UNITS
            .iter()
            .find(|(_, factor)| self.0 >= *factor && self.0.is_multiple_of(*factor))
            .copied()
            .unwrap_or(("B", 1));
        write!(f, "{}{unit}", self.0 / factor)
    }
}

impl TryFrom<String> for ByteSize {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        text.parse()
    }
}

impl From<ByteSize> for String {
    fn from(size: ByteSize) -> Self {
        size.to_string()
    }
}

/// A duration with its unit: `250ms`, `5s`, `2m`, `1h`, `7d`. A bare number is refused: its unit would be a guess.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct HumanDuration(Duration);

/// Units of a duration in milliseconds, longest first.
const TIME_UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

impl HumanDuration {
    /// Wraps a duration; what is below a millisecond is not written.
    #[must_use]
    pub const fn new(duration: Duration) -> Self {
        Self(duration)
    }

    /// The duration.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl FromStr for HumanDuration {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text).ok_or(UnitError::Duration)?;
        let factor = TIME_UNITS
            .iter()
            .find_map(|(name, factor)| (*name == unit).then_some(*factor))
            .ok_or(UnitError::Duration)?;
        let number: u64 = number.parse().map_err(|_| UnitError::TooLarge)?;
        let millis = number.checked_mul(factor).ok_or(UnitError::TooLarge)?;
        Ok(Self(Duration::from_millis(millis)))
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        let (unit, factor) = TIME_UNITS
            .iter()
            .find(|(_, factor)| millis >= *factor && millis.is_multiple_of(*factor))
            .copied()
            .unwrap_or(("ms", 1));
        write!(f, "{}{unit}", millis / factor)
    }
}

impl TryFrom<String> for HumanDuration {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        text.parse()
    }
}

impl From<HumanDuration> for String {
    fn from(duration: HumanDuration) -> Self {
        duration.to_string()
    }
}

impl From<HumanDuration> for Duration {
    fn from(duration: HumanDuration) -> Self {
        duration.get()
    }
}

/// Splits `512 MiB` into its digits and its unit; `None` without digits.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (!number.is_empty()).then_some((number, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_sizes_read_and_write() {
        let size = |text: &str| text.parse::<ByteSize>();
        assert_eq!(size("512MiB").unwrap().as_u64(), 512 << 20);
        assert_eq!(size("4 kB").unwrap().as_u64(), 4_000);
        assert_eq!(size("17").unwrap().as_u64(), 17);
        assert_eq!(size("2GiB").unwrap().to_string(), "2GiB");
        assert_eq!(size("1500").unwrap().to_string(), "1500B");
        assert_eq!(ByteSize::bytes(0).to_string(), "0B");
        assert_eq!(size("MiB"), Err(UnitError::ByteSize));
        assert_eq!(size("5mb"), Err(UnitError::ByteSize));
        assert_eq!(size("-5MiB"), Err(UnitError::ByteSize));
        assert_eq!(size("99999999TiB"), Err(UnitError::TooLarge));
    }

    #[test]
    fn durations_need_a_unit() {
        let time = |text: &str| text.parse::<HumanDuration>();
        assert_eq!(time("5s").unwrap().get(), Duration::from_secs(5));
        assert_eq!(time("250ms").unwrap().to_string(), "250ms");
        assert_eq!(time("7d").unwrap().to_string(), "7d");
        assert_eq!(time("5"), Err(UnitError::Duration));
        assert_eq!(time("5 weeks"), Err(UnitError::Duration));
        assert_eq!(time("99999999999999999999s"), Err(UnitError::TooLarge));
    }
}
