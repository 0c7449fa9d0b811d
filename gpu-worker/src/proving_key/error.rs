//! Why a circuit cannot be loaded.

use std::error::Error;

use proofmill_shared::distribution::DistributionError;
use proofmill_shared::groth16::StoreError;
use proofmill_shared::protocol::{Digest, FailureKind, TaskFailure};

use crate::backend::BackendError;

/// Why a circuit cannot be had on the device.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Shape or key are missing or damaged, or do not fit each other.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What the store lacks does not come.
    #[error(transparent)]
    Distribution(Box<DistributionError>),
    /// The device cannot take the circuit.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The circuit alone is larger than what may be resident.
    #[error(
        "circuit {shape} needs {needed} bytes and {budget} may be resident: raise the budget or choose a larger device"
    )]
    OverBudget {
        /// Shape of the circuit.
        shape: Digest,
        /// Bytes it takes.
        needed: u64,
        /// Bytes that all resident circuits may take.
        budget: u64,
    },
}

impl LoadError {
    /// What the failure means for the job: this worker cannot prove it, another may.
    #[must_use]
    pub fn failure(&self) -> TaskFailure {
        let code = match self {
            Self::Store(StoreError::MissingShape { .. } | StoreError::MissingKey { .. }) => {
                "key-missing"
            }
            Self::Store(_) => "key-unusable",
            Self::Distribution(_) => "key-not-fetched",
            Self::Backend(_) | Self::OverBudget { .. } => "device-refused",
        };
        // The user reads this line alone, so it names the causes too.
        let mut message = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        TaskFailure::new(FailureKind::Attempt, code, message)
    }
}
