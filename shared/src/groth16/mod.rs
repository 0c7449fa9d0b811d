//! Groth16 over BLS12-381: what both halves of the split prover must agree on.
//!
//! Paper: eprint 2016/260. Row order, densities and byte formats as in bellperson.
//!
//! *Layout*: `shape` (the constraint matrices of a circuit), `recorder` (how they are recorded), `matrix` (sparse rows
//! times an assignment), `shape_file` (their encoding), `assignment` (values of all variables), `setup` (development
//! keys), `proving_key` (keys in memory), `params_file` and `mapped` (keys on disk), `proof` (proofs and their
//! verification), `store` (shapes and keys of this host).

mod assignment;
mod mapped;
mod matrix;
mod params_file;
mod proof;
mod proving_key;
mod recorder;
mod setup;
mod shape;
mod shape_file;
mod store;
#[cfg(test)]
mod tests;

pub use assignment::Assignment;
pub use matrix::{CoefficientIndices, SparseMatrix};
pub use params_file::Check;
pub use proof::{
    PROOF_LEN, PreparedVerifyingKey, Proof, ProofError, VerifiedProof, VerifyError, scalar_from_be,
    scalar_to_be,
};
pub use proving_key::{KeyError, ProvingKey, VerifyingKey};
pub use setup::{SetupError, SetupProgress, generate_key};
pub use shape::{Density, Shape, ShapeError};
pub use store::{Store, StoreError};

/// The scalar field of BLS12-381.
pub use blstrs::Scalar;
