//! What can be wrong with a key.

use std::path::PathBuf;

use super::PointFault;
use crate::protocol::Digest;

/// Why a key is refused.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be opened or mapped.
    #[error("cannot read params file {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The file ends too early, or a length in it lies.
    #[error("params file ends within {field}: {needed} bytes needed, {left} left")]
    Truncated {
        /// The field that does not fit.
        field: &'static str,
        /// Bytes that the field takes.
        needed: u64,
        /// Bytes that there are.
        left: u64,
    },
    /// Bytes after the last field.
    #[error("params file has {bytes} bytes after its end: it is of another format, or was padded")]
    Trailing {
        /// How many.
        bytes: u64,
    },
    /// A point that may not be in a key.
    #[error("{field}[{index}] of the key {fault}")]
    Point {
        /// The field of the key.
        field: &'static str,
        /// Index in the field, 0 for single points.
        index: usize,
        /// What is wrong.
        fault: PointFault,
    },
    /// γ = δ: such a key lets anyone forge proofs.
    #[error(
        "gamma and delta of the key are equal: anyone could forge proofs, generate another key"
    )]
    GammaEqualsDelta,
    /// β or δ in G1 and G2 are not multiples of the generators by one number.
    #[error("beta and delta of the key differ between G1 and G2: the file mixes two keys")]
    Inconsistent,
    /// Counts of the key are not those of the circuit.
    #[error("{0}")]
    DoesNotFit(Box<KeyMismatch>),
}

/// A key held against a circuit that it was not made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMismatch {
    /// Digest of the key.
    pub key: Digest,
    /// Digest of the shape.
    pub shape: Digest,
    /// Counts that differ.
    pub counts: Vec<CountMismatch>,
}

/// One count that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountMismatch {
    /// The field of the key.
    pub field: &'static str,
    /// Points that the key holds.
    pub key: usize,
    /// Points that the circuit needs.
    pub circuit: usize,
}

impl std::fmt::Display for KeyMismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { key, shape, counts } = self;
        write!(f, "key does not fit circuit: key {key}, circuit {shape}")?;
        for CountMismatch {
            field,
            key,
            circuit,
        } in counts
        {
            write!(
                f,
                "; {field} holds {key} points, the circuit needs {circuit}"
            )?;
        }
        Ok(())
    }
}
