//! Circuit programs: how an input becomes partitions, and proofs become an answer.
//!
//! *Layout*: `program` (the trait a circuit implements), `registered` (a program whatever its types), `registry` (those
//! this worker runs), `error` (why an input or a witness is refused); one file per circuit family: `sha256`, `chain`.

mod chain;
mod error;
mod program;
mod registered;
mod registry;
mod sha256;

pub use chain::{Chain, ChainInput};
pub use error::CircuitError;
pub use program::CircuitProgram;
pub use registered::{ParsedInput, RegisteredCircuit};
pub use registry::CircuitRegistry;
pub use sha256::{Sha256, Sha256Input};
