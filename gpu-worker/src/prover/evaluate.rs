//! `Assignment → ConstraintEvaluations`: the witness goes to the device, which evaluates the matrices on it.

use ff::Field;
use proofmill_shared::groth16::{Assignment, Scalar};

use super::ProveError;
use crate::backend::{Backend, LoadedCircuit};

/// Values of the constraints on one assignment, on the device.
pub(super) struct ConstraintEvaluations<'a, B: Backend> {
    /// w = input ‖ aux.
    pub(super) witness: B::Witness<'a>,
    /// a = A·w and b = B·w; each m long, zero past row `num_constraints + num_inputs`. c is a∘b on a satisfied assignment.
    pub(super) values: B::Evaluations,
}

/// Evaluates A and B on an assignment, or takes the evaluations that it brings.
///
/// # Errors
/// [`ProveError::Assignment`] if the assignment has other counts than the circuit; [`ProveError::LeadingOne`] if its
/// first input is not one; [`ProveError::Backend`] if the device fails.
///
/// # Source
/// Row order as in bellperson `groth16/prover`: the constraints, then a row `inputᵢ · 0 = 0` for every input.
pub(super) fn evaluate<'a, B: Backend>(
    backend: &B,
    circuit: &B::Circuit,
    assignment: &'a Assignment,
) -> Result<ConstraintEvaluations<'a, B>, ProveError> {
    if assignment.input.first() != Some(&Scalar::ONE) {
        return Err(ProveError::LeadingOne);
    }
    circuit
        .shape()
        .check_assignment(assignment)
        .map_err(ProveError::Assignment)?;
    let witness = backend.upload(circuit, assignment)?;
    let values = backend.evaluate(circuit, &witness)?;
    Ok(ConstraintEvaluations { witness, values })
}
