//! What can be wrong with a configuration.

use std::path::PathBuf;

/// Why a configuration is refused. Values are never repeated: they may be secret.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file named with `--config` is not there, or cannot be read.
    #[error(
        "configuration file {} cannot be read: check --config and its permissions",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The file is far larger than any configuration.
    #[error("configuration file {} is larger than {limit} bytes: is it the right file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file is not TOML.
    #[error("{origin} does not read as toml, near line {line}: {reason}")]
    Syntax {
        /// Where it was written.
        origin: String,
        /// Line of the fault, from 1.
        line: usize,
        /// What the parser misses.
        reason: String,
    },
    /// A key that no process knows.
    #[error("unknown key {key} in {origin}: known here are {known}")]
    UnknownKey {
        /// The key with its section, such as `gpu_worker.devise`.
        key: String,
        /// Where it was written.
        origin: String,
        /// The keys of that section.
        known: String,
    },
    /// A value that does not fit its key.
    #[error("{key} in {origin}: {reason}")]
    BadValue {
        /// The key with its section.
        key: String,
        /// Where it was written.
        origin: String,
        /// What is expected.
        reason: String,
    },
    /// There is no place for the store.
    #[error("no home for keys and shapes: set PROOFMILL_HOME, store.home or HOME")]
    NoHome,
}
