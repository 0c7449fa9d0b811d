//! Every constraint is checked before anything is shipped: a prover proves an unsatisfied circuit happily.

use proofmill_shared::groth16::{Assignment, Shape};

use crate::circuit::CircuitError;

/// Checks all constraints of a partition.
///
/// # Errors
/// [`CircuitError::UnsatisfiedConstraint`] with the first that fails.
pub fn check(shape: &Shape, assignment: &Assignment, partition: u32) -> Result<(), CircuitError> {
    match shape.first_unsatisfied(assignment)? {
        None => Ok(()),
        Some(constraint) => Err(CircuitError::UnsatisfiedConstraint {
            partition,
            constraint,
        }),
    }
}
