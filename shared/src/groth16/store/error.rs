//! Why the store cannot give or take something.

use std::io;
use std::path::PathBuf;

use super::super::{KeyError, ShapeFileError};
use crate::protocol::Digest;

/// Why the store cannot give or take something.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No key was generated or imported for the circuit.
    #[error("no key for circuit shape {shape}: run `proofmill params generate CIRCUIT`")]
    MissingKey {
        /// Digest of the shape.
        shape: Digest,
    },
    /// The shape was never recorded here.
    #[error("no shape {shape} in the store: run `proofmill params generate CIRCUIT`")]
    MissingShape {
        /// Digest of the shape.
        shape: Digest,
    },
    /// The shape file is unusable.
    #[error("shape file {} cannot be used: remove it", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: ShapeFileError,
    },
    /// A file that does not hold what its name says.
    #[error("file {} holds {found}: remove it", path.display())]
    Misnamed {
        /// The file.
        path: PathBuf,
        /// Digest of what is in it.
        found: Digest,
    },
    /// The params file is unusable.
    #[error("params file {} cannot be used: replace it", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: KeyError,
    },
    /// The file system refused.
    #[error("store cannot use {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}
