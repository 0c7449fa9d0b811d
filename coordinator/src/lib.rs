//! The coordinator: it assigns partitions to workers, and alone changes job state.
//!
//! # Layout
//!
//! - [`job`]: the pure state machine, `transition(job, event, now) -> (job, actions)`.
//! - [`scheduler`]: pure too: which ready unit goes to which worker next.
//! - [`actors`]: job supervision, worker registry, events, loss of workers.
//! - `submission`: a client's request becomes a job.
//! - [`handle`]: what everyone outside the actors sees of them.
//! - [`view`]: jobs and workers as the API shows them.
//! - [`api`]: one HTTP endpoint a file.
//! - [`process`]: the process around it all; [`config`]: its configuration; [`error`]: why it ends.

pub mod actors;
pub mod api;
pub mod config;
pub mod error;
pub mod handle;
pub mod job;
pub mod process;
pub mod scheduler;
mod submission;
pub mod view;
