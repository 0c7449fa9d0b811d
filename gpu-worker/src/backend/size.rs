//! Bytes that shapes and keys take in main memory.

use blstrs::{G1Affine, G2Affine};
use proofmill_shared::groth16::{CoefficientIndices, Scalar, Shape, SparseMatrix};

/// Bytes of a shape.
pub(super) fn shape_bytes(shape: &Shape) -> u64 {
    let density = &shape.density;
    let flags = density.a_aux.len() + density.b_aux.len() + density.b_input.len();
    let dictionary = size_of::<Scalar>() * shape.dictionary.len();
    let matrices = [&shape.a, &shape.b, &shape.c].map(matrix_bytes);
    (flags + dictionary) as u64 + matrices.iter().sum::<u64>()
}

fn matrix_bytes(matrix: &SparseMatrix) -> u64 {
    let coefficients = match &matrix.coefficients {
        CoefficientIndices::Narrow(indices) => size_of_val(indices.as_slice()),
        CoefficientIndices::Wide(indices) => size_of_val(indices.as_slice()),
    };
    let columns = size_of_val(matrix.columns.as_slice());
    let rows = size_of_val(matrix.row_ends.as_slice());
    (coefficients + columns + rows) as u64
}

/// Points in the queries of every key that fits a shape.
pub(super) struct QueryLengths {
    pub(super) ic: usize,
    pub(super) h: usize,
    pub(super) l: usize,
    pub(super) a: usize,
    pub(super) b: usize,
}

impl QueryLengths {
    pub(super) fn of(shape: &Shape) -> Self {
        let density = &shape.density;
        let count = |flags: &[bool]| flags.iter().filter(|is_dense| **is_dense).count();
        Self {
            ic: shape.num_inputs,
            h: shape.domain_size() - 1,
            l: shape.num_aux,
            a: shape.num_inputs + count(&density.a_aux),
            b: count(&density.b_input) + count(&density.b_aux),
        }
    }

    /// Bytes of the key.
    pub(super) fn key_bytes(&self) -> u64 {
        let num_g1 = self.ic + self.h + self.l + self.a + self.b;
        (num_g1 * size_of::<G1Affine>() + self.b * size_of::<G2Affine>()) as u64
    }
}
