//! `ConstraintEvaluations → Quotient`: h(X) = (a(X)·b(X) − c(X)) / t(X), t(X) = X^m − 1.

use super::ProveError;
use super::evaluate::ConstraintEvaluations;
use crate::backend::Backend;

/// The quotient with the witness that the multiplications still need, on the device.
pub(super) struct Quotient<'a, B: Backend> {
    /// w = input ‖ aux.
    pub(super) witness: B::Witness<'a>,
    /// Coefficients of h; m − 1 of them.
    pub(super) h: B::Quotient,
}

/// Divides by the vanishing polynomial; the evaluations are used up.
///
/// # Errors
/// [`ProveError::Backend`] if the device fails.
pub(super) fn quotient<'a, B: Backend>(
    backend: &B,
    circuit: &B::Circuit,
    evaluations: ConstraintEvaluations<'a, B>,
) -> Result<Quotient<'a, B>, ProveError> {
    let ConstraintEvaluations { witness, values } = evaluations;
    let h = backend.quotient(circuit, values)?;
    Ok(Quotient { witness, h })
}
