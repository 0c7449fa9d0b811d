//! Groth16 over BLS12-381: what both halves of the split prover must agree on.
//!
//! Paper: eprint 2016/260. Row order, densities and byte formats as in bellperson.
//!
//! *Layout*: `shape` (the constraint matrices of a circuit), `assignment` (values of all variables), `proving_key` (keys
//! in memory), `proof` (proofs and their verification).

mod assignment;
mod proof;
mod proving_key;
mod shape;

pub use assignment::Assignment;
pub use proof::{Proof, VerifiedProof};
pub use proving_key::{ProvingKey, VerifyingKey};
pub use shape::{CoefficientIndices, Density, Shape, SparseMatrix};

/// The scalar field of BLS12-381.
pub use blstrs::Scalar;
