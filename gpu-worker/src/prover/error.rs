//! Why there is no proof.

use proofmill_shared::groth16::{ShapeError, VerifyError};

use crate::backend::BackendError;

/// Why proving ended without a proof.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The assignment belongs to another circuit.
    #[error("assignment does not fit the circuit that is loaded")]
    Assignment(#[source] ShapeError),
    /// The first input of an assignment is the constant one.
    #[error("first input of the assignment is not one: send the inputs with the leading one")]
    LeadingOne,
    /// The device failed, or cannot take the circuit.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// Whoever asked for the proof no longer wants it.
    #[error("proving was cancelled")]
    Cancelled,
    /// The proof came out wrong: the assignment does not satisfy the circuit, the key is of another circuit, or the device
    /// miscalculates.
    #[error("proof does not verify: the assignment, the key or the device is at fault")]
    NotVerified(#[source] VerifyError),
}
