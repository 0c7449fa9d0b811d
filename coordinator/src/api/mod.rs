//! The HTTP API: one endpoint a file, errors as `application/problem+json`, OpenAPI at `/openapi.json`.
//!
//! # Layout
//!
//! - `server`: binds the address and runs the server; `routes`: which path and method leads where.
//! - `limits`: every limit by name; `body`: reading a request's body under them; `guard`: who may ask at all.
//! - `problem`: refusals as clients see them; `path`: ids out of paths; `deadline`: durations and deadlines as text.
//! - `idempotency`: keys that name a submission; `answer`: what is answered, with links.
//! - `submit_job`, `list_jobs`, `show_job`, `cancel_job`, `retry_job`, `job_proof`, `job_timeline`, `job_events`,
//!   `circuits`, `workers`, `artifacts` (shapes and keys), `health`, `index`, `openapi`: the endpoints.
//!
//! **Invariant**: every refusal is a [`Problem`], also for unknown paths, wrong methods and bodies that do not read.

mod answer;
mod artifacts;
mod body;
mod cancel_job;
mod circuits;
mod deadline;
mod guard;
mod health;
mod idempotency;
mod index;
mod job_events;
mod job_proof;
mod job_timeline;
mod limits;
mod list_jobs;
mod openapi;
mod path;
mod problem;
mod retry_job;
mod routes;
mod server;
mod show_job;
mod submit_job;
mod workers;

#[cfg(test)]
mod tests;

pub use answer::{
    CircuitsAnswer, JobAnswer, JobLinks, JobsAnswer, ProofAnswer, TimelineAnswer, WorkersAnswer,
};
pub use artifacts::ArtifactConfig;
pub use deadline::parse_duration;
pub use idempotency::{IDEMPOTENCY_KEY_LEN_MAX, is_idempotency_key};
pub use limits::{JOBS_PER_PAGE_MAX, WAIT_MAX};
pub use problem::{Problem, ProblemCode};
pub use server::{ApiConfig, ServeError, serve};
