//! A whole synth worker over the in-memory broker, with the coordinator's side played by hand.
//!
//! *Layout*: `bench` (that side: jobs, tokens, tasks, events), `programs` (circuits that misbehave), then one file a
//! behaviour.

#![expect(
    clippy::unwrap_used,
    reason = "what the bench does must succeed, and says where it did not"
)]

mod bench;
mod draining;
mod failures;
mod fencing;
mod life;
mod programs;
