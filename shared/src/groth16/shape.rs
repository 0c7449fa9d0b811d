//! The shape of a circuit: its R1CS in sparse rows, recorded once.

use bellperson::Circuit;
use rayon::prelude::*;

use super::matrix::SparseMatrix;
use super::{Assignment, Scalar, recorder, shape_file};
use crate::protocol::Digest;

/// Why a shape cannot be had, or an assignment does not fit it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The circuit failed while its shape was recorded.
    #[error("circuit could not be recorded: {reason}")]
    Synthesis {
        /// What it said.
        reason: String,
    },
    /// More variables or non-zeros than 32 bits hold.
    #[error(
        "circuit has {num_inputs} inputs and {num_aux} aux variables, or more non-zeros than 32 bits count"
    )]
    TooLarge {
        /// Inputs.
        num_inputs: usize,
        /// Aux variables.
        num_aux: usize,
    },
    /// The assignment has other lengths than the circuit.
    #[error(
        "assignment has {found_inputs} inputs and {found_aux} aux variables, the circuit has {inputs} and {aux}"
    )]
    AssignmentLength {
        /// Inputs of the circuit.
        inputs: usize,
        /// Aux variables of the circuit.
        aux: usize,
        /// Inputs found.
        found_inputs: usize,
        /// Aux variables found.
        found_aux: usize,
    },
    /// A shape file that does not read.
    #[error("shape file does not read: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
}

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
    /// Distinct coefficients; index 0 is one.
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
    /// Records the shape of a circuit by running it once, with or without values.
    ///
    /// # Errors
    /// [`ShapeError::Synthesis`] if the circuit fails, [`ShapeError::TooLarge`] if 32 bits do not hold it.
    pub fn record<C: Circuit<Scalar>>(circuit: C) -> Result<Self, ShapeError> {
        recorder::record(circuit)
    }

    pub(super) fn new(
        num_inputs: usize,
        num_aux: usize,
        dictionary: Vec<Scalar>,
        a: SparseMatrix,
        b: SparseMatrix,
        c: SparseMatrix,
    ) -> Result<Self, ShapeError> {
        let density = Density::of(num_inputs, num_aux, &a, &b);
        let num_constraints = a.num_rows();
        let digest = Digest([0; 32]);
        let mut shape = Self {
            num_inputs,
            num_aux,
            num_constraints,
            dictionary,
            a,
            b,
            c,
            density,
            digest,
        };
        shape.digest = Digest::of(&shape.encode());
        Ok(shape)
    }

    /// The canonical encoding, with a checksum; its digest is the identity of the circuit.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        shape_file::encode(self)
    }

    /// Reads a canonical encoding.
    ///
    /// # Errors
    /// [`ShapeError::Malformed`] if it is anything else, whatever the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, ShapeError> {
        shape_file::decode(bytes)
    }

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

    /// Checks that an assignment has the circuit's lengths.
    ///
    /// # Errors
    /// [`ShapeError::AssignmentLength`] with both.
    pub fn check_lengths(&self, assignment: &Assignment) -> Result<(), ShapeError> {
        let (found_inputs, found_aux) = (assignment.input.len(), assignment.aux.len());
        if (found_inputs, found_aux) == (self.num_inputs, self.num_aux) {
            return Ok(());
        }
        let (inputs, aux) = (self.num_inputs, self.num_aux);
        Err(ShapeError::AssignmentLength {
            inputs,
            aux,
            found_inputs,
            found_aux,
        })
    }

    /// Number of the first constraint that an assignment does not satisfy, counted from 0; `None` if it satisfies all.
    ///
    /// # Errors
    /// [`ShapeError::AssignmentLength`] if it does not fit at all.
    pub fn first_unsatisfied(&self, assignment: &Assignment) -> Result<Option<usize>, ShapeError> {
        self.check_lengths(assignment)?;
        let product = |matrix: &SparseMatrix| {
            let mut out = vec![Scalar::default(); self.num_constraints];
            matrix.multiply_into(
                &self.dictionary,
                &assignment.input,
                &assignment.aux,
                &mut out,
            );
            out
        };
        let (a, b, c) = (product(&self.a), product(&self.b), product(&self.c));
        let is_broken = |row: &usize| a[*row] * b[*row] != c[*row];
        Ok((0..self.num_constraints)
            .into_par_iter()
            .find_first(is_broken))
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
    fn of(num_inputs: usize, num_aux: usize, a: &SparseMatrix, b: &SparseMatrix) -> Self {
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

    /// Length of the a query: all inputs, then the aux variables that occur in A.
    #[must_use]
    pub fn a_len(&self) -> usize {
        self.b_input.len() + self.a_aux.iter().filter(|is_dense| **is_dense).count()
    }

    /// Length of the b queries.
    #[must_use]
    pub fn b_len(&self) -> usize {
        self.b_input
            .iter()
            .chain(&self.b_aux)
            .filter(|is_dense| **is_dense)
            .count()
    }
}
