//! One finished span.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{RemoteContext, attributes};
use crate::protocol::{JobId, UnixMicros};

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

/// What a span is to the outside, in OpenTelemetry's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SpanKind {
    /// Work within the process.
    #[default]
    Internal,
    /// Answers a request.
    Server,
    /// Makes a request.
    Client,
    /// Sends a message.
    Producer,
    /// Receives a message.
    Consumer,
}

/// How what the span covers ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SpanStatus {
    /// As intended.
    #[default]
    Ok,
    /// It failed, for this reason (never witness data).
    Error(String),
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    /// Text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A claim.
    Bool(bool),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for AttributeValue {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u32> for AttributeValue {
    fn from(number: u32) -> Self {
        Self::Int(i64::from(number))
    }
}

impl From<u64> for AttributeValue {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for AttributeValue {
    fn from(number: usize) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<f64> for AttributeValue {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<bool> for AttributeValue {
    fn from(claim: bool) -> Self {
        Self::Bool(claim)
    }
}

/// One finished span of a job, with its times on the cluster's clock. Made by [`SpanRecord::new`] and the builder
/// methods, handed to [`crate::telemetry::SpanSink::record`].
#[derive(Debug, Clone, PartialEq)]
pub struct SpanRecord {
    /// One of [`super::names`].
    pub name: &'static str,
    /// The job; its id is the trace id.
    pub job: JobId,
    /// Id of this span.
    pub span_id: SpanId,
    /// The span this one is part of; absent for the root.
    pub parent: Option<SpanId>,
    /// True if the parent was written by another process.
    pub is_parent_remote: bool,
    /// Spans that caused this one without containing it.
    pub links: Vec<RemoteContext>,
    /// What it is to the outside.
    pub kind: SpanKind,
    /// When it began.
    pub start: UnixMicros,
    /// When it ended; never before `start`.
    pub end: UnixMicros,
    /// Facts about it.
    pub attributes: Vec<(&'static str, AttributeValue)>,
    /// How it ended.
    pub status: SpanStatus,
}

impl SpanRecord {
    /// Makes a span of a job with a fresh id. An end before the start is taken as the start.
    #[must_use]
    pub fn new(name: &'static str, job: JobId, start: UnixMicros, end: UnixMicros) -> Self {
        Self {
            name,
            job,
            span_id: SpanId::random(),
            parent: None,
            is_parent_remote: false,
            links: Vec::new(),
            kind: SpanKind::Internal,
            start,
            end: end.max(start),
            attributes: Vec::new(),
            status: SpanStatus::Ok,
        }
    }

    /// Gives it an id that is known already, such as the persisted one of the root.
    #[must_use]
    pub fn id(mut self, id: SpanId) -> Self {
        self.span_id = id;
        self
    }

    /// Makes it part of a span of this process.
    #[must_use]
    pub fn parent(mut self, parent: SpanId) -> Self {
        self.parent = Some(parent);
        self.is_parent_remote = false;
        self
    }

    /// Makes it part of a span of another process (usually the job's root); `None` leaves it without a parent.
    #[must_use]
    pub fn remote_parent(mut self, parent: Option<SpanId>) -> Self {
        self.parent = parent;
        self.is_parent_remote = parent.is_some();
        self
    }

    /// Links it to the span that caused it, if that is known.
    #[must_use]
    pub fn link(mut self, cause: Option<RemoteContext>) -> Self {
        self.links.extend(cause);
        self
    }

    /// Says what it is to the outside.
    #[must_use]
    pub fn kind(mut self, kind: SpanKind) -> Self {
        self.kind = kind;
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn attribute(mut self, key: &'static str, value: impl Into<AttributeValue>) -> Self {
        self.attributes.push((key, value.into()));
        self
    }

    /// Marks it as failed.
    #[must_use]
    pub fn error(mut self, reason: impl Into<String>) -> Self {
        self.status = SpanStatus::Error(reason.into());
        self
    }

    /// Mends the order: a span that seems to start before its cause ended is moved to start there, and says by how
    /// much. Clocks of two machines agree only up to their uncertainty.
    #[must_use]
    pub fn not_before(mut self, cause_ended: UnixMicros) -> Self {
        if self.start < cause_ended {
            let mended = cause_ended.since(self.start);
            self.start = cause_ended;
            self.end = self.end.max(cause_ended);
            let micros = u64::try_from(mended.as_micros()).unwrap_or(u64::MAX);
            return self.attribute(attributes::ORDER_MENDED_MICROS, micros);
        }
        self
    }

    /// How long it took.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.end.since(self.start)
    }

    /// The context of this span, for messages that it sends.
    #[must_use]
    pub fn context(&self) -> RemoteContext {
        RemoteContext::of_job(self.job, self.span_id)
    }

    /// True if its order was mended by [`SpanRecord::not_before`].
    #[must_use]
    pub fn is_mended(&self) -> bool {
        self.attributes
            .iter()
            .any(|(key, _)| *key == attributes::ORDER_MENDED_MICROS)
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

    #[test]
    fn a_span_never_ends_before_it_starts() {
        let span = SpanRecord::new("synth", JobId::generate(), UnixMicros(9), UnixMicros(5));
        assert_eq!((span.start, span.end), (UnixMicros(9), UnixMicros(9)));
    }

    #[test]
    fn a_span_before_its_cause_is_moved_and_says_by_how_much() {
        let job = JobId::generate();
        let span = SpanRecord::new("handoff.wait", job, UnixMicros(100), UnixMicros(130));
        let untouched = span.clone().not_before(UnixMicros(100));
        assert_eq!(untouched, span);
        let mended = span.not_before(UnixMicros(120));
        assert_eq!(
            (mended.start, mended.end),
            (UnixMicros(120), UnixMicros(130))
        );
        assert!(mended.is_mended());
        assert_eq!(mended.attributes[0].1, AttributeValue::Int(20));
    }
}
