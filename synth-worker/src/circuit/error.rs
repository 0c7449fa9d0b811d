//! Why an input or a witness is refused.

use bellperson::SynthesisError;
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
    #[error(
        "partition {partition} does not satisfy constraint {constraint} of its circuit (counted from 0): the input is \
         not what the circuit's statement asks for"
    )]
    UnsatisfiedConstraint {
        /// Index of the partition.
        partition: u32,
        /// Number of the first constraint that fails, from 0.
        constraint: usize,
    },
    /// The circuit says of itself that no witness of this input satisfies it.
    #[error("circuit cannot be satisfied with this input: {reason}")]
    Unsatisfiable {
        /// What it said.
        reason: String,
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
    #[error("circuit program panicked: the log of the worker says where")]
    Panicked,
    /// There are no threads to run circuit code on.
    #[error("threads for circuit code cannot be started: {reason}")]
    NoThreads {
        /// What the system said.
        reason: String,
    },
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

    /// An input that is not the JSON the circuit takes. Says where, and nothing of what stands there: it may be secret.
    #[must_use]
    pub(super) fn malformed_json(error: &serde_json::Error, expected: &str) -> Self {
        let (line, column) = (error.line(), error.column());
        let fault = match error.classify() {
            serde_json::error::Category::Data => "a value that does not belong there",
            serde_json::error::Category::Eof => "the end comes too early",
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => "not json",
        };
        Self::malformed(format!(
            "{fault}, line {line} column {column}: expected {expected}"
        ))
    }

    /// What the failure means for the job.
    #[must_use]
    pub fn failure(&self) -> TaskFailure {
        let (kind, code) = match self {
            // Another worker may run it, or a newer version of this one.
            Self::UnknownCircuit { .. } => (FailureKind::Infrastructure, "unknown-circuit"),
            Self::NoThreads { .. } => (FailureKind::Infrastructure, "no-circuit-threads"),
            Self::MalformedInput { .. } => (FailureKind::Rejected, "malformed-input"),
            Self::InputTooLarge { .. } => (FailureKind::Rejected, "input-too-large"),
            Self::UnsatisfiedConstraint { .. } => (FailureKind::Rejected, "unsatisfied-constraint"),
            Self::Unsatisfiable { .. } => (FailureKind::Rejected, "unsatisfiable"),
            // The program is at fault, not the input.
            Self::Inconsistent { .. } => (FailureKind::Attempt, "inconsistent-program"),
            Self::Synthesis { .. } => (FailureKind::Attempt, "synthesis-failed"),
            Self::Panicked => (FailureKind::Attempt, "circuit-panicked"),
            Self::OutputMismatch { .. } => (FailureKind::Attempt, "output-mismatch"),
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

impl From<SynthesisError> for CircuitError {
    fn from(error: SynthesisError) -> Self {
        let reason = error.to_string();
        match error {
            SynthesisError::Unsatisfiable | SynthesisError::DivisionByZero => {
                Self::Unsatisfiable { reason }
            }
            _ => Self::Synthesis { reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_json_is_told_without_repeating_it() {
        let told = |text: &str| {
            let error = serde_json::from_str::<u64>(text).unwrap_err();
            CircuitError::malformed_json(&error, "a number").to_string()
        };
        for (text, fault) in [
            ("\"hush\"", "does not belong"),
            ("", "too early"),
            ("hush", "not json"),
        ] {
            let told = told(text);
            assert!(told.contains(fault) && told.contains("line 1"), "{told}");
            assert!(!told.contains("hush"), "{told}");
        }
    }

    #[test]
    fn inputs_at_fault_reject_the_job_and_programs_at_fault_fail_the_attempt() {
        let kind = |error: CircuitError| error.failure().kind;
        assert_eq!(kind(CircuitError::malformed("x")), FailureKind::Rejected);
        assert_eq!(
            kind(SynthesisError::DivisionByZero.into()),
            FailureKind::Rejected
        );
        assert_eq!(
            kind(SynthesisError::AssignmentMissing.into()),
            FailureKind::Attempt
        );
        assert_eq!(kind(CircuitError::Panicked), FailureKind::Attempt);
    }
}
