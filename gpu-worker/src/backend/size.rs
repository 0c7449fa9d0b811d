//! Bytes that shapes and keys take in main memory.

use blstrs::{G1Affine, G2Affine};
use proofmill_shared::groth16::{CoefficientIndices, ProvingKey, Scalar, Shape, SparseMatrix};

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

/// Bytes of a proving key.
pub(super) fn key_bytes(key: &ProvingKey) -> u64 {
    let g1 = [
        &key.vk.ic,
        &key.h_query,
        &key.l_query,
        &key.a_query,
        &key.b_g1_query,
    ];
    let num_g1: usize = g1.iter().map(|query| query.len()).sum();
    (num_g1 * size_of::<G1Affine>() + key.b_g2_query.len() * size_of::<G2Affine>()) as u64
}
