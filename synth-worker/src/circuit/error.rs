//! Why an input or a witness is refused.

use proofmill_shared::groth16::ShapeError;
use proofmill_shared::protocol::{FailureKind, TaskFailure};

/// Why circuit code does not go on. Holds nothing of the witness.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CircuitError {
    /// No program of this name and version runs here.
    #[error("circuit {circuit} is not known to this worker: it runs {known}")]
    UnknownCircuit {
        /// What was asked for.
        circuit: String,
        /// What there is.
        known: String,
    },
    /// The input is not what the circuit takes.
    #[error("input does not read: {reason}")]
    MalformedInput {
        /// What is wrong with it, and where.
        reason: String,
    },
    /// The input is larger than the circuit takes.
    #[error("input of {bytes} bytes is larger than the circuit's limit of {limit} bytes")]
    InputTooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The witness breaks a constraint.
    #[error("partition {partition} does not satisfy constraint {constraint} of its circuit")]
    UnsatisfiedConstraint {
        /// Index of the partition.
        partition: u32,
        /// Number of the first constraint that fails, from 0.
        constraint: usize,
    },
    /// The program does not keep to its own word.
    #[error("circuit program contradicts itself: {reason}")]
    Inconsistent {
        /// How.
        reason: String,
    },
    /// The program failed while it computed the witness.
    #[error("circuit program failed: {reason}")]
    Synthesis {
        /// What it said.
        reason: String,
    },
    /// The program panicked; nothing else was harmed.
    #[error("circuit program panicked")]
    Panicked,
    /// The proofs do not join to what the input says.
    #[error("proofs do not join: {reason}")]
    OutputMismatch {
        /// Where they break.
        reason: String,
    },
}

impl CircuitError {
    /// A malformed input, with what is wrong and where.
    pub fn malformed(reason: impl Into<String>) -> Self {
        Self::MalformedInput {
            reason: reason.into(),
        }
    }

    /// What the failure means for the job.
    #[must_use]
    pub fn failure(&self) -> TaskFailure {
        let (kind, code) = match self {
            Self::UnknownCircuit { .. } => (FailureKind::Infrastructure, "unknown-circuit"),
            Self::MalformedInput { .. } => (FailureKind::Rejected, "malformed-input"),
            Self::InputTooLarge { .. } => (FailureKind::Rejected, "input-too-large"),
            Self::UnsatisfiedConstraint { .. } => (FailureKind::Rejected, "unsatisfied-constraint"),
            Self::Inconsistent { .. } => (FailureKind::Rejected, "inconsistent-program"),
            Self::Synthesis { .. } => (FailureKind::Rejected, "synthesis-failed"),
            Self::Panicked => (FailureKind::Attempt, "circuit-panicked"),
            Self::OutputMismatch { .. } => (FailureKind::Rejected, "output-mismatch"),
        };
        TaskFailure::new(kind, code, self.to_string())
    }
}

impl From<ShapeError> for CircuitError {
    fn from(error: ShapeError) -> Self {
        Self::Inconsistent {
            reason: error.to_string(),
        }
    }
}
