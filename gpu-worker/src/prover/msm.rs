//! `Quotient → MsmResults`: the five multi-scalar multiplications of a proof.

use blstrs::{G1Projective, G2Projective};

use super::quotient::Quotient;
use super::{ProveError, StepObserver};
use crate::backend::Backend;

/// Sums of the five queries, each weighted with its scalars.
///
/// They depend on the secret assignment without blinding.
#[expect(
    missing_debug_implementations,
    reason = "secret: a debug line would show it"
)]
#[derive(Clone, PartialEq, Eq)]
pub struct MsmResults {
    /// Σ hᵢ·h_queryᵢ; m − 1 terms.
    pub h: G1Projective,
    /// Σ auxᵢ·l_queryᵢ; `num_aux` terms.
    pub l: G1Projective,
    /// Σ wᵢ·a_queryᵢ over all inputs and the aux variables of A's density.
    pub a: G1Projective,
    /// Σ wᵢ·b_g1_queryᵢ over the variables of B's density.
    pub b_g1: G1Projective,
    /// The same in G2.
    pub b_g2: G2Projective,
}

/// Multiplies out all queries; witness and quotient are used up.
///
/// # Errors
/// [`ProveError::Cancelled`] if the observer asks to stop; [`ProveError::Backend`] if the device fails.
pub(super) fn multiply<B: Backend>(
    backend: &B,
    circuit: &B::Circuit,
    quotient: Quotient<'_, B>,
    observer: &dyn StepObserver,
) -> Result<MsmResults, ProveError> {
    backend.multiply(circuit, quotient.witness, quotient.h, observer)
}
