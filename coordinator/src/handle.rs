//! What everyone outside the actors sees of them.

use std::time::Duration;

use proofmill_shared::protocol::{CircuitRecord, JobId};
use proofmill_shared::telemetry::TimelineRecord;
use tokio::sync::broadcast;

use crate::view::{JobProof, JobRequest, JobState, JobView, WorkerView};

/// Why the coordinator refuses a call.
#[derive(Debug, thiserror::Error)]
pub enum CoordinatorError {
    /// No worker has registered such a circuit.
    #[error("circuit {circuit} is not registered: known are {known}")]
    UnknownCircuit {
        /// What was asked for.
        circuit: String,
        /// What there is.
        known: String,
    },
    /// The input is larger than the limit.
    #[error("input of {bytes} bytes is larger than the limit of {limit} bytes")]
    InputTooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The deadline is already past.
    #[error("deadline is in the past: the job could never be of use")]
    DeadlinePassed,
    /// The idempotency key was used with another request.
    #[error("idempotency key was used for job {job} with another request: use a new key")]
    IdempotencyConflict {
        /// The job it is bound to.
        job: JobId,
    },
    /// No such job (any more).
    #[error("job {job} is not known: it never was, or its retention is over")]
    UnknownJob {
        /// What was asked for.
        job: JobId,
    },
    /// The call needs another state.
    #[error("job {job} is {state:?}: {needs}")]
    WrongState {
        /// The job.
        job: JobId,
        /// Where it stands.
        state: JobState,
        /// What the call needs.
        needs: &'static str,
    },
    /// Too many jobs wait.
    #[error("{queued} jobs are queued, the limit is {limit}: try again later")]
    QueueFull {
        /// How many wait.
        queued: usize,
        /// The limit.
        limit: usize,
    },
    /// The broker does not answer.
    #[error("broker call failed")]
    Broker(#[from] proofmill_shared::broker::BrokerError),
    /// The coordinator is shutting down, or does not lead.
    #[error("coordinator is stopping or not leading: try again")]
    Unavailable,
}

/// A change of a job, as server-sent events carry it.
#[derive(Debug, Clone)]
pub struct JobChange {
    /// The job.
    pub job: JobId,
    /// Where it stands now.
    pub view: std::sync::Arc<JobView>,
}

/// What became of a submission.
#[derive(Debug, Clone, PartialEq)]
pub struct Submitted {
    /// The job.
    pub view: JobView,
    /// False if the idempotency key named a job that was there already.
    pub is_new: bool,
}

/// Cheap handle of a running coordinator: the actors' channels stay behind it.
#[derive(Debug, Clone)]
pub struct CoordinatorHandle {}

impl CoordinatorHandle {
    #[cfg(test)]
    pub(crate) fn detached() -> Self {
        Self {}
    }

    /// Accepts a job: durable before it answers.
    ///
    /// # Errors
    /// Every [`CoordinatorError`] but the ones about unknown jobs.
    pub async fn submit(&self, request: JobRequest) -> Result<Submitted, CoordinatorError> {
        let _ = request;
        Err(CoordinatorError::Unavailable)
    }

    /// Reads a job.
    ///
    /// # Errors
    /// [`CoordinatorError::UnknownJob`], [`CoordinatorError::Broker`].
    pub async fn job(&self, job: JobId) -> Result<JobView, CoordinatorError> {
        Err(CoordinatorError::UnknownJob { job })
    }

    /// Waits until a job ends, at most `limit`, and answers with where it stands then.
    ///
    /// # Errors
    /// As [`CoordinatorHandle::job`].
    pub async fn wait(&self, job: JobId, limit: Duration) -> Result<JobView, CoordinatorError> {
        let _ = limit;
        Err(CoordinatorError::UnknownJob { job })
    }

    /// Newest jobs first, at most `limit`, older than `before` if given.
    ///
    /// # Errors
    /// [`CoordinatorError::Broker`].
    pub async fn jobs(
        &self,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<JobView>, CoordinatorError> {
        let _ = (before, limit);
        Err(CoordinatorError::Unavailable)
    }

    /// Cancels a job; a job that has ended stays as it is ([`CoordinatorError::WrongState`]).
    ///
    /// # Errors
    /// As [`CoordinatorHandle::job`], and [`CoordinatorError::WrongState`].
    pub async fn cancel(&self, job: JobId) -> Result<JobView, CoordinatorError> {
        Err(CoordinatorError::UnknownJob { job })
    }

    /// Makes a new job of an ended one that did not succeed (`retry_of`), with the input it kept.
    ///
    /// # Errors
    /// As [`CoordinatorHandle::submit`], and [`CoordinatorError::WrongState`].
    pub async fn retry(&self, job: JobId) -> Result<JobView, CoordinatorError> {
        Err(CoordinatorError::UnknownJob { job })
    }

    /// Proofs of a job that succeeded.
    ///
    /// # Errors
    /// As [`CoordinatorHandle::job`], and [`CoordinatorError::WrongState`].
    pub async fn proof(&self, job: JobId) -> Result<JobProof, CoordinatorError> {
        Err(CoordinatorError::UnknownJob { job })
    }

    /// Events of a job's life, in order of time.
    ///
    /// # Errors
    /// As [`CoordinatorHandle::job`].
    pub async fn timeline(&self, job: JobId) -> Result<Vec<TimelineRecord>, CoordinatorError> {
        Err(CoordinatorError::UnknownJob { job })
    }

    /// Every change of every job from here on; a slow reader misses some and is told so.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<JobChange> {
        broadcast::channel(1).1
    }

    /// Live workers.
    ///
    /// # Errors
    /// [`CoordinatorError::Unavailable`].
    pub async fn workers(&self) -> Result<Vec<WorkerView>, CoordinatorError> {
        Err(CoordinatorError::Unavailable)
    }

    /// Registered circuits.
    ///
    /// # Errors
    /// [`CoordinatorError::Broker`].
    pub async fn circuits(&self) -> Result<Vec<CircuitRecord>, CoordinatorError> {
        Err(CoordinatorError::Unavailable)
    }

    /// True once the coordinator leads, has rebuilt its state and takes jobs.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        false
    }
}
