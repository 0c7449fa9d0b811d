//! What two Proofmill processes must agree on.
//!
//! # Layout
//!
//! - [`protocol`]: ids, envelopes, tasks, worker events and worker records, as they travel.
//! - [`groth16`]: R1CS shape, assignment of one partition, keys, proofs, verification, the local store.
//! - [`assignment`]: the codec, chunk and manifest that carry an assignment from synthesis to proving.
//! - [`distribution`]: how shapes and keys reach machines that lack them.
//! - [`broker`]: one trait between the processes, its Redis and in-memory backends, and every key name.
//! - [`membership`]: how a worker belongs to the cluster: heartbeat, inbox, control orders, events.
//! - [`telemetry`]: cluster clock, timeline records and their analysis, spans, OTLP export.
//! - [`config`]: file, environment and flags, in rising order.
//!
//! **Invariant**: this crate depends on no other workspace crate. **Invariant**: only [`broker`] speaks Redis.
//! Witness data never appears in a `Debug`, a log line or an error of this crate.

pub mod assignment;
pub mod broker;
pub mod config;
pub mod distribution;
pub mod groth16;
pub mod membership;
pub mod protocol;
pub mod telemetry;
