//! Circuit programs: how an input becomes partitions, and proofs become an answer.
//!
//! *Layout*: `program` (the trait a circuit implements), `registered` (a program whatever its types), `registry` (those
//! this worker runs), `json_program` (any bellperson circuit, wrapped), `containment` (the threads they run on), `error`
//! (why an input or a witness is refused); one file per circuit family: `sha256`, `chain`; `scalar_text` (scalars as
//! people write them).

mod chain;
mod containment;
mod error;
mod json_program;
mod program;
mod registered;
mod registry;
mod scalar_text;
mod sha256;

pub use chain::{Chain, ChainCircuit, ChainInput};
pub use error::CircuitError;
pub use json_program::JsonProgram;
pub use program::{CircuitProgram, PARTITIONS_MAX, parse_json};
pub use registered::{ParsedInput, RegisteredCircuit};
pub use registry::CircuitRegistry;
pub use sha256::{FILE_BYTES_MAX, Sha256, Sha256Circuit, Sha256Input};
