//! Groth16 over BLS12-381: what both halves of the split prover must agree on.
//!
//! Paper: eprint 2016/260. Row order, densities and byte formats as in bellperson.
//!
//! *Layout*
//! - the circuit: `shape` (its constraints), `matrix` (one of its three matrices), `recorder` (circuit to shape),
//!   `shape_file` (shape to bytes and back);
//! - its values: `assignment`, `satisfaction` (the check before shipping), `scalar` (scalars as bytes);
//! - its keys: `proving_key`, `verifying_key`, `key_error`, `points` (bytes to curve points), `params_file` and `mapped` (keys
//!   on disk), `setup` (development keys), `store` (shapes and keys by digest);
//! - its proofs: `proof` (to bytes and back), `verification` (to a verified proof).

mod assignment;
#[cfg(test)]
mod circuits;
mod key_error;
mod mapped;
mod matrix;
mod params_file;
mod points;
mod proof;
mod proving_key;
mod recorder;
mod satisfaction;
mod scalar;
mod setup;
mod shape;
mod shape_file;
mod store;
mod verification;
mod verifying_key;

pub use assignment::{Assignment, Evaluations};
pub use key_error::{CountMismatch, KeyError, KeyMismatch};
pub use matrix::{CoefficientIndices, SparseMatrix};
pub use points::{Check, PointFault};
pub use proof::{Proof, ProofError};
pub use proving_key::ProvingKey;
pub use scalar::{
    NotAScalar, public_inputs_from_words, public_inputs_to_words, scalar_from_be, scalar_to_be,
};
pub use setup::{SetupError, SetupProgress, generate_development_key};
pub use shape::{Density, MAX_LOG_DOMAIN_SIZE, Shape, ShapeError};
pub use shape_file::ShapeFileError;
pub use store::{Store, StoreEntry, StoreError};
pub use verification::{PreparedVerifyingKey, VerifiedProof, VerifyError};
pub use verifying_key::VerifyingKey;

/// The scalar field of BLS12-381.
pub use blstrs::Scalar;
