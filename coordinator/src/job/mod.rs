//! The life of a job as a pure state machine: `transition(job, event, now) -> (job, changed units, actions)`.
//!
//! *Layout*: `record` (what the broker keeps of a job and its units), `model` (a job in memory), `event` (what may
//! happen), `action` (what is to be done about it), `transition` (the entry), then one file a kind of event: `assign`,
//! `report`, `result`, `loss`, `end`; `resume` (a job that was read back), `limits`.
//!
//! **Invariant**: nothing here does IO, reads a clock or waits. **Invariant**: a terminal state is never left.
//! **Invariant**: the token that the broker accepts for a stage of a unit is that of its live attempt, else none.

mod action;
mod assign;
mod end;
mod event;
mod limits;
mod loss;
mod model;
#[cfg(test)]
mod properties;
mod record;
mod report;
mod result;
mod resume;
#[cfg(test)]
mod tests;
mod transition;

pub use action::{Action, Transition};
pub use event::{JobEvent, LossCause, Report, StoredResult, WorkerLife};
pub use limits::{
    MAX_FAILED_ATTEMPTS, MAX_LOST_ATTEMPTS, MAX_PARTITIONS, RETRY_BACKOFF_BASE, RETRY_BACKOFF_MAX,
};
pub use model::Job;
pub use record::{
    AttemptRecord, DeadLetter, JobRecord, PayloadRecord, RecordError, StageRecord, UnitRecord,
};
pub use resume::{Held, Resumed, events_of_marks};
pub use transition::{accept, transition};
