//! How the cluster explains itself.
//!
//! *Layout*: `clock` (the cluster's clock in this process), `timeline` (what happened when, and the TIMELINE log form),
//! `spans` (names, attributes and links), `sink` (where finished spans go), `otlp` (export), `logs` (tracing set-up),
//! `utilisation` (busy and idle, split by cause), `waterfall` (the text picture).

mod clock;
mod sink;
pub mod spans;
mod timeline;

pub use clock::ClusterClock;
pub use sink::{SpanCounts, SpanSink};
pub use spans::{RemoteContext, SpanId, SpanKind, SpanRecord, SpanStatus};
pub use timeline::{TIMELINE_TARGET, TimelineEvent, TimelineRecord, UnknownEvent};
