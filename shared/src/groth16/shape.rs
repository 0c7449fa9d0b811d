//! The shape of a circuit: its R1CS in sparse rows, recorded once.

use bellperson::SynthesisError;
use ff::Field;

use super::{Assignment, Evaluations, Scalar, SparseMatrix};
use crate::protocol::Digest;

/// Largest log₂ of the evaluation domain: bellperson refuses more, and so do its keys.
pub const MAX_LOG_DOMAIN_SIZE: u32 = 31;

/// Sparse constraint matrices A, B, C of one circuit, with a dictionary of their distinct coefficients.
///
/// Shapes: `num_constraints` rows, `num_inputs + num_aux` columns. A column below `num_inputs` is an input, any other is
/// aux variable `column - num_inputs`. The rows `input_i · 0 = 0`, which bellperson appends after synthesis (one per
/// input), are implied and not stored: see [`Shape::num_rows`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Public inputs with the leading one.
    pub num_inputs: usize,
    /// Private variables.
    pub num_aux: usize,
    /// Rows stored.
    pub num_constraints: usize,
    /// Distinct coefficients; index 0 is one, the others ascend as integers.
    pub dictionary: Vec<Scalar>,
    /// Left factors.
    pub a: SparseMatrix,
    /// Right factors.
    pub b: SparseMatrix,
    /// Products.
    pub c: SparseMatrix,
    /// Where a_query and b_query hold bases, over the aux variables and inputs. A over inputs is full.
    pub density: Density,
    /// BLAKE3 digest of the canonical encoding: identity of the circuit.
    pub digest: Digest,
}

impl Shape {
    /// Constraints plus one row per input: the rows that the evaluation domain holds.
    #[must_use]
    pub const fn num_rows(&self) -> usize {
        self.num_constraints + self.num_inputs
    }

    /// Size m of the evaluation domain: the least power of two that holds all rows (at least 1).
    #[must_use]
    pub const fn domain_size(&self) -> usize {
        self.num_rows().next_power_of_two()
    }

    /// Checks that an assignment has this shape's counts and the leading one.
    ///
    /// # Errors
    /// [`ShapeError::AssignmentLength`], [`ShapeError::LeadingOne`], [`ShapeError::EvaluationsLength`], and
    /// [`ShapeError::NoMatrices`] of a summary if the assignment brings no evaluations.
    pub fn check_assignment(&self, assignment: &Assignment) -> Result<(), ShapeError> {
        if assignment.input.len() != self.num_inputs || assignment.aux.len() != self.num_aux {
            return Err(ShapeError::AssignmentLength {
                num_inputs: self.num_inputs,
                num_aux: self.num_aux,
                found_inputs: assignment.input.len(),
                found_aux: assignment.aux.len(),
            });
        }
        if assignment.input.first() != Some(&Scalar::ONE) {
            return Err(ShapeError::LeadingOne);
        }
        match &assignment.evaluations {
            None if self.is_summary() => Err(ShapeError::NoMatrices { shape: self.digest }),
            Some(Evaluations { a, b })
                if a.len() != self.num_constraints || b.len() != self.num_constraints =>
            {
                Err(ShapeError::EvaluationsLength {
                    num_constraints: self.num_constraints,
                    found_a: a.len(),
                    found_b: b.len(),
                })
            }
            None | Some(_) => Ok(()),
        }
    }

    /// True if the matrices are not here, only what follows from them: see [`Shape::decode_summary`].
    #[must_use]
    pub fn is_summary(&self) -> bool {
        self.a.num_rows() != self.num_constraints
    }

    /// Evaluates A and B on an assignment, on all cores.
    ///
    /// # Errors
    /// As [`Shape::check_assignment`].
    pub fn evaluate(&self, assignment: &Assignment) -> Result<Evaluations, ShapeError> {
        self.check_assignment(assignment)?;
        let mut a = vec![Scalar::ZERO; self.num_constraints];
        let mut b = a.clone();
        self.evaluate_into(assignment, &mut a, &mut b);
        Ok(Evaluations { a, b })
    }

    /// Evaluates A and B on an assignment, on all cores of the thread's pool; takes the evaluations that it brings, if any.
    ///
    /// Shapes: `a` and `b` hold one element a constraint.
    ///
    /// # Panics
    /// If they do not, or the assignment is not one of this shape: check first with [`Shape::check_assignment`].
    pub fn evaluate_into(&self, assignment: &Assignment, a: &mut [Scalar], b: &mut [Scalar]) {
        let Assignment {
            input,
            aux,
            evaluations,
        } = assignment;
        match evaluations {
            Some(evaluations) => {
                a.copy_from_slice(&evaluations.a);
                b.copy_from_slice(&evaluations.b);
            }
            None => {
                self.a.multiply_into(&self.dictionary, input, aux, a);
                self.b.multiply_into(&self.dictionary, input, aux, b);
            }
        }
    }

    /// Joins checked parts; computes density and digest.
    pub(crate) fn from_parts(
        num_inputs: usize,
        num_aux: usize,
        dictionary: Vec<Scalar>,
        [a, b, c]: [SparseMatrix; 3],
    ) -> Self {
        let mut shape = Self {
            num_inputs,
            num_aux,
            num_constraints: a.num_rows(),
            dictionary,
            density: Density::of(num_inputs, num_aux, &a, &b),
            a,
            b,
            c,
            digest: Digest([0; 32]),
        };
        shape.digest = shape.content_digest();
        shape
    }
}

/// Which variables a query holds a base for: true where the variable occurs with a non-zero coefficient.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Density {
    /// Aux variables that occur in A; length `num_aux`.
    pub a_aux: Vec<bool>,
    /// Inputs that occur in B; length `num_inputs`.
    pub b_input: Vec<bool>,
    /// Aux variables that occur in B; length `num_aux`.
    pub b_aux: Vec<bool>,
}

impl Density {
    /// Aux variables that occur in A.
    #[must_use]
    pub fn num_a_aux(&self) -> usize {
        count(&self.a_aux)
    }

    /// Inputs and aux variables that occur in B.
    #[must_use]
    pub fn num_b(&self) -> usize {
        count(&self.b_input) + count(&self.b_aux)
    }

    pub(crate) fn of(
        num_inputs: usize,
        num_aux: usize,
        a: &SparseMatrix,
        b: &SparseMatrix,
    ) -> Self {
        let mut density = Self {
            a_aux: vec![false; num_aux],
            b_input: vec![false; num_inputs],
            b_aux: vec![false; num_aux],
        };
        for column in &a.columns {
            if let Some(aux) = (*column as usize).checked_sub(num_inputs) {
                density.a_aux[aux] = true;
            }
        }
        for column in &b.columns {
            match (*column as usize).checked_sub(num_inputs) {
                Some(aux) => density.b_aux[aux] = true,
                None => density.b_input[*column as usize] = true,
            }
        }
        density
    }
}

fn count(bits: &[bool]) -> usize {
    bits.iter().filter(|bit| **bit).count()
}

/// Why a shape could not be recorded, or an assignment does not belong to it.
#[derive(Debug, thiserror::Error)]
pub enum ShapeError {
    /// The circuit's own code failed.
    #[error("circuit did not synthesize")]
    Synthesis(#[from] SynthesisError),
    /// A constraint names a variable that was not allocated before it.
    #[error("constraint {constraint} uses a variable that was never allocated")]
    UnknownVariable {
        /// Number of the constraint, from 0.
        constraint: usize,
    },
    /// The circuit is larger than a proof can be.
    #[error("circuit has more than {limit} {what}: split it into partitions")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How many there may be.
        limit: u64,
    },
    /// The assignment belongs to another circuit.
    #[error(
        "assignment holds {found_inputs} inputs and {found_aux} aux, the circuit has {num_inputs} inputs and {num_aux} aux"
    )]
    AssignmentLength {
        /// Inputs of the circuit.
        num_inputs: usize,
        /// Aux variables of the circuit.
        num_aux: usize,
        /// Inputs of the assignment.
        found_inputs: usize,
        /// Aux variables of the assignment.
        found_aux: usize,
    },
    /// The evaluations belong to another circuit.
    #[error(
        "assignment holds {found_a} values of A and {found_b} of B, the circuit has {num_constraints} constraints"
    )]
    EvaluationsLength {
        /// Constraints of the circuit.
        num_constraints: usize,
        /// Values of A·w.
        found_a: usize,
        /// Values of B·w.
        found_b: usize,
    },
    /// Only the summary of the shape is here.
    #[error(
        "the matrices of shape {shape} are not here, and the assignment brings no evaluations: set gpu_worker.shapes to full, or synth_worker.handoff to auto or evaluated"
    )]
    NoMatrices {
        /// Digest of the shape.
        shape: Digest,
    },
    /// Input 0 must be the constant one.
    #[error("input 0 of the assignment is not the constant one")]
    LeadingOne,
}
