//! Groth16 over BLS12-381: what both halves of the split prover must agree on.
//!
//! Paper: eprint 2016/260. Row order, densities and byte formats as in bellperson.
//!
//! *Layout*: `shape` (the constraints of a circuit), `matrix` (one of its three matrices), `recorder` (circuit to shape),
//! `shape_file` (shape to bytes and back), `assignment` (values of all variables), `satisfaction` (the check before
//! shipping), `scalar` (scalars as bytes), `proving_key` (keys in memory), `proof` (proofs and their verification).

mod assignment;
#[cfg(test)]
mod circuits;
mod matrix;
mod proof;
mod proving_key;
mod recorder;
mod satisfaction;
mod scalar;
mod shape;
mod shape_file;

pub use assignment::Assignment;
pub use matrix::{CoefficientIndices, SparseMatrix};
pub use proof::{Proof, VerifiedProof};
pub use proving_key::{ProvingKey, VerifyingKey};
pub use scalar::{
    NotAScalar, public_inputs_from_words, public_inputs_to_words, scalar_from_be, scalar_to_be,
};
pub use shape::{Density, MAX_LOG_DOMAIN_SIZE, Shape, ShapeError};
pub use shape_file::ShapeFileError;

/// The scalar field of BLS12-381.
pub use blstrs::Scalar;
