//! Why a circuit cannot be loaded.

use proofmill_shared::groth16::StoreError;
use proofmill_shared::protocol::Digest;

use crate::backend::BackendError;

/// Why a circuit cannot be had on the device.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Shape or key are missing or damaged, or do not fit each other.
    #[error(transparent)]
    Store(#[from] StoreError),
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
