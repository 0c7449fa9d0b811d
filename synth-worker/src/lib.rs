//! The synthesis worker: circuit programs turned into shipped assignments, on CPUs only.
//!
//! # Layout
//!
//! - [`circuit`]: the trait a circuit joins through, the registry, one file per circuit family.
//! - [`witness`]: from a circuit with values to a checked assignment.
//! - `actors`: tasks in, effects out.
//! - `worker`: a running synth worker, started and drained.
//!
//! **Invariant**: no device code is linked here, and nothing of a GPU worker or the coordinator is known.

pub mod circuit;
pub mod witness;
