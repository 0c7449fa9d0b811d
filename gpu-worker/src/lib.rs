//! The GPU worker: fetches assignments, proves, verifies.
//!
//! # Layout
//!
//! - [`prover`]: the proving half of Groth16 in the order of the paper: evaluate, quotient, msm, assemble, verify.
//! - [`backend`]: what a device does for it; the CPU backend.
<<<<<<< HEAD
//! - [`proving_key`]: shapes and keys that stay loaded.
//! - [`device`]: which device, and whether it proves right.
//! - `actors`: fetch, prove, publish; one actor a step.
//! - [`worker`]: a running GPU worker, started and drained.
//! - [`config`], [`process`]: the worker as a process of its own.
=======
//! - [`proving_key`]: circuits kept on the device between proofs.
//! - [`device`]: which device, why, and whether it computes right.
>>>>>>> prover
//!
//! **Invariant**: `unsafe` and device code live in [`backend`] only. **Invariant**: blinding factors are drawn here and
//! never leave the process.

<<<<<<< HEAD
mod actors;
pub mod backend;
pub mod config;
pub mod device;
pub mod process;
pub mod prover;
pub mod proving_key;
pub mod worker;
=======
pub mod backend;
pub mod device;
pub mod prover;
pub mod proving_key;
>>>>>>> prover
