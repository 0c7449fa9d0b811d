//! How the cluster explains itself.
//!
//! *Layout*: `clock` (the cluster's clock in this process), `timeline` (what happened when, and the TIMELINE log form),
//! `spans` (names, attributes and links), `sink` (where finished spans go), `otlp` (export), `logs` (tracing set-up),
//! `utilisation` (busy and idle, split by cause), `waterfall` (the text picture).

mod clock;
pub mod logs;
mod otlp;
mod parse;
#[cfg(any(test, feature = "testing"))]
pub mod receiver;
mod sink;
pub mod spans;
mod timeline;

pub use clock::{ClockSample, ClusterClock, wall_clock};
pub use otlp::{OtlpSettings, ShutdownReport, Telemetry, TelemetryConfig, TelemetryError};
pub use parse::{LoggedEvent, LoggedTimeline};
pub use sink::{SpanCounts, SpanSink};
pub use spans::{RemoteContext, SpanId, SpanKind, SpanRecord, SpanStatus};
pub use timeline::{TIMELINE_TARGET, TimelineEvent, TimelineRecord, UnknownEvent};
