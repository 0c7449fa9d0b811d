//! Spans as Proofmill writes them: names, records with explicit cluster times, trace context, attribute conventions.
//!
//! *Layout*: `names` (every span name), `record` (one finished span), `context` (W3C trace context), `attributes`
//! (attribute keys and the messaging conventions).
//!
//! A span is a finished record: whoever did the work, or noticed that it ended, hands it to a [`super::SpanSink`] with
//! its start and end on the cluster's clock. Nothing is held open, so a crash leaves no half-open span behind.
//! **Invariant**: the trace id of a span is its job's id.

pub mod attributes;
mod context;
pub mod names;
mod record;

pub use context::RemoteContext;
pub use record::{AttributeValue, SpanId, SpanKind, SpanRecord, SpanStatus};
