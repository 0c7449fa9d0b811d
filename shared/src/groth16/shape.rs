//! The shape of a circuit: its R1CS in sparse rows, recorded once.

use super::Scalar;
use crate::protocol::Digest;

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
}

/// One matrix in compressed sparse rows. No coefficient is zero; columns of a row ascend and are distinct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparseMatrix {
    /// End of each row in `columns`, exclusive; length `num_constraints`. Row i starts where row i − 1 ends.
    pub row_ends: Vec<u32>,
    /// Column of each non-zero.
    pub columns: Vec<u32>,
    /// Dictionary index of each non-zero; as long as `columns`.
    pub coefficients: CoefficientIndices,
}

/// Dictionary indices, two bytes each where the dictionary allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoefficientIndices {
    /// At most 65,536 distinct coefficients: 6 bytes a non-zero with its column.
    Narrow(Vec<u16>),
    /// More.
    Wide(Vec<u32>),
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
