//! How the cluster explains itself.
//!
//! *Layout*: `clock` (the cluster's clock in this process), `timeline` (what happened when, and the TIMELINE log form),
//! `spans` (names, attributes and links), `otlp` (export), `logs` (tracing set-up), `utilisation` (busy and idle,
//! split by cause), `waterfall` (the text picture).

mod clock;
mod timeline;

pub use clock::ClusterClock;
pub use timeline::{TimelineEvent, TimelineRecord};
