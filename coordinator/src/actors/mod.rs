//! The actors around the pure parts.
//!
//! *Layout*: `coordinator` (starts and stops them all), `leader_keeper` (one coordinator leads at a time),
//! `worker_registry` (who is there; `roster` is its pure half), `event_reader` (what workers report),
//! `job_supervisor` (owns jobs and scheduler), `expectation` (what a client stated against what came out), `site` (what
//! they all share), `ending` (how the coordinator ends), `insist` (broker calls until they succeed).
//!
//! **Invariant**: an event is acknowledged after the transition that it caused is durable.
//! **Invariant**: a panic in any of them ends the process.

mod coordinator;
mod ending;
mod event_reader;
mod expectation;
mod insist;
mod job_supervisor;
mod leader_keeper;
mod roster;
mod site;
mod spans;
#[cfg(test)]
mod tests;
mod worker_registry;

pub(crate) use coordinator::Running;
pub use coordinator::{
    Coordinator, CoordinatorOptions, LOOKAHEAD_DEFAULT, QUEUE_LIMIT_DEFAULT, RETENTION_DEFAULT,
    STALL_LIMIT_DEFAULT,
};
pub use ending::CoordinatorEnd;
#[cfg(test)]
pub(crate) use job_supervisor::JobSupervisor;
pub(crate) use job_supervisor::durable::read_job;
pub(crate) use job_supervisor::{AcceptJob, AwaitEnd, CancelJob, DescribeJob, DescribeWorkers};
pub(crate) use site::Site;
pub(crate) use worker_registry::decode_all;
