//! Circuits kept on the device between proofs.
//!
//! *Layout*: `resident` (which circuits stay, within a byte budget), `error` (why one cannot be loaded).

mod error;
mod resident;

pub use error::LoadError;
pub use resident::{Loaded, ResidentCircuit, ResidentCircuits};
