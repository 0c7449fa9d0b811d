//! Ids of spans.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use crate::broker::PayloadKey;
use crate::protocol::Digest;
use serde::{Deserialize, Serialize};

/// Id of a span within its trace: 64 random bits, never 0. Text is 16 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SpanId(NonZeroU64);

/// Text that is no span id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a span id: expected 16 hex digits, not all zero")]
pub struct SpanIdError(String);

impl SpanId {
    /// Length of the text form.
    pub const HEX_LEN: usize = 16;

    /// Draws an id.
    #[must_use]
    pub fn random() -> Self {
        loop {
            if let Some(id) = NonZeroU64::new(rand::random()) {
                return Self(id);
            }
        }
    }

    /// The id of the `handoff.send` span of a payload: derived from its key, so that the receiving side can link to it
    /// without being told.
    #[must_use]
    pub fn of_handoff(key: &PayloadKey) -> Self {
        let text = format!("handoff.send {} {} {}", key.job, key.partition, key.attempt);
        let digest = Digest::of(text.as_bytes());
        let id = digest.0[..8]
            .iter()
            .fold(0u64, |id, byte| id << 8 | u64::from(*byte));
        Self(NonZeroU64::new(id).unwrap_or(NonZeroU64::MIN))
    }

    /// The id as a number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for SpanId {
    type Err = SpanIdError;

    fn from_str(text: &str) -> Result<Self, SpanIdError> {
        let is_hex =
            text.len() == Self::HEX_LEN && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex
            .then(|| u64::from_str_radix(text, 16).ok().and_then(NonZeroU64::new))
            .flatten()
            .map(Self)
            .ok_or_else(|| SpanIdError(text.to_owned()))
    }
}

impl TryFrom<String> for SpanId {
    type Error = SpanIdError;

    fn try_from(text: String) -> Result<Self, SpanIdError> {
        text.parse()
    }
}

impl From<SpanId> for String {
    fn from(id: SpanId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_ids_are_sixteen_hex_digits_and_never_zero() {
        let id = SpanId::random();
        assert_eq!(id.to_string().len(), SpanId::HEX_LEN);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!("0000000000000000".parse::<SpanId>().is_err());
        assert!("+00000000000001f".parse::<SpanId>().is_err());
        assert!("1f".parse::<SpanId>().is_err());
    }
}
