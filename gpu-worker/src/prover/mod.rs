//! The proving half of Groth16 (eprint 2016/260), in the order of the paper.
//!
//! [`prove`] is the summary: `Assignment → ConstraintEvaluations → Quotient → MsmResults → Proof`, one file each. What a
//! device must do for it is [`Backend`].

use proofmill_shared::groth16::{Assignment, PreparedVerifyingKey, Proof, VerifiedProof};

use crate::backend::{Backend, LoadedCircuit};

mod assemble;
mod error;
mod evaluate;
mod msm;
mod quotient;
mod steps;

pub use assemble::BlindingFactors;
pub use error::ProveError;
pub use msm::MsmResults;
pub use steps::{Cancelled, Step, StepObserver, StepTime, StepTimes};

use steps::observed;

#[cfg(test)]
mod tests;

/// Proves that an assignment satisfies a circuit.
///
/// The assignment is taken to satisfy it: otherwise the proof does not verify. For the same blinding factors the proof is
/// that of bellperson, byte for byte, whatever the backend.
///
/// # Errors
/// [`ProveError::Assignment`] if the assignment has other counts than the circuit; [`ProveError::Cancelled`] if the
/// observer asks to stop; [`ProveError::Backend`] if the device fails.
pub fn prove<B: Backend>(
    backend: &B,
    circuit: &B::Circuit,
    assignment: &Assignment,
    blinding: &BlindingFactors,
    observer: &dyn StepObserver,
) -> Result<Proof, ProveError> {
    let results = msm_results(backend, circuit, assignment, observer)?;
    observed(observer, Step::Assemble, || {
        Ok(assemble::assemble(&circuit.key().vk, &results, blinding))
    })
}

/// Everything before the blinding factors: the sums of the five queries. For comparing backends.
///
/// # Errors
/// As [`prove`].
pub fn msm_results<B: Backend>(
    backend: &B,
    circuit: &B::Circuit,
    assignment: &Assignment,
    observer: &dyn StepObserver,
) -> Result<MsmResults, ProveError> {
    let evaluations = observed(observer, Step::Evaluate, || {
        evaluate::evaluate(backend, circuit, assignment)
    })?;
    let quotient = observed(observer, Step::Ntt, || {
        quotient::quotient(backend, circuit, evaluations)
    })?;
    msm::multiply(backend, circuit, quotient, observer)
}

/// Proves, and verifies the proof: the only form in which it may leave the worker.
///
/// # Errors
/// As [`prove`], and [`ProveError::NotVerified`] if the proof does not verify.
pub fn prove_and_verify<B: Backend>(
    backend: &B,
    circuit: &B::Circuit,
    verifying_key: &PreparedVerifyingKey,
    assignment: &Assignment,
    blinding: &BlindingFactors,
    observer: &dyn StepObserver,
) -> Result<VerifiedProof, ProveError> {
    let proof = prove(backend, circuit, assignment, blinding, observer)?;
    observed(observer, Step::Verify, || {
        let public_inputs = assignment.input.get(1..).unwrap_or_default();
        proof
            .verify(verifying_key, public_inputs)
            .map_err(ProveError::NotVerified)
    })
}
