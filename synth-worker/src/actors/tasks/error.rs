//! Why a task did not reach its effect.

use proofmill_shared::assignment::{BudgetError, PublishError};
use proofmill_shared::broker::{BrokerError, Retryability};
use proofmill_shared::protocol::{FailureKind, TaskFailure};

use crate::circuit::CircuitError;

/// Why a task did not reach its effect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    /// Circuit code refused.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// The input is gone.
    #[error("input of the job is gone: the job has ended, or its input has expired")]
    MissingInput,
    /// There is no memory for the assignment.
    #[error(transparent)]
    Memory(BudgetError),
    /// The assignment was not shipped.
    #[error(transparent)]
    Publish(PublishError),
    /// The broker failed.
    #[error("broker call failed: {0}")]
    Broker(#[from] BrokerError),
    /// A result cannot be written as, or read from, JSON.
    #[error("result does not read or write: {0}")]
    Json(#[from] serde_json::Error),
    /// A proof of the job is not there.
    #[error("proof of partition {0} is not in the broker")]
    MissingProof(u32),
    /// A task for another kind of worker.
    #[error("synth workers do not prove")]
    WrongRole,
    /// The worker drains and had not started the task.
    #[error("worker drains")]
    HandedBack,
    /// The task is no longer wanted.
    #[error("task is no longer wanted")]
    Cancelled,
    /// The token is no longer current.
    #[error("token is stale")]
    Stale,
}

impl TaskError {
    /// What the failure means for the job.
    pub(crate) fn failure(&self) -> TaskFailure {
        let (kind, code) = match self {
            Self::Circuit(error) => return error.failure(),
            Self::Publish(error) => return error.failure(),
            Self::Memory(error) => return error.failure(),
            Self::Broker(error) => match error.retryability() {
                Retryability::Transient => (FailureKind::Infrastructure, "broker-failed"),
                Retryability::Fatal => (FailureKind::Attempt, "broker-failed"),
            },
            Self::MissingInput => (FailureKind::Attempt, "input-missing"),
            Self::Json(_) => (FailureKind::Attempt, "result-malformed"),
            Self::MissingProof(_) => (FailureKind::Attempt, "proof-missing"),
            Self::WrongRole => (FailureKind::Infrastructure, "wrong-role"),
            Self::HandedBack | Self::Cancelled | Self::Stale => {
                (FailureKind::Infrastructure, "taken-back")
            }
        };
        TaskFailure::new(kind, code, self.to_string())
    }
}

impl From<BudgetError> for TaskError {
    fn from(error: BudgetError) -> Self {
        match error {
            BudgetError::Cancelled => Self::Cancelled,
            error => Self::Memory(error),
        }
    }
}

impl From<PublishError> for TaskError {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Cancelled => Self::Cancelled,
            error => Self::Publish(error),
        }
    }
}
