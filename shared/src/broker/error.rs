//! Causes for which a broker call fails.

use super::seal::SealError;

/// Whether trying again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retryability {
    /// It may: the same call, later.
    Transient,
    /// It cannot.
    Fatal,
}

/// Why a broker call failed.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The server cannot be reached or the connection broke.
    #[error("broker at {server} cannot be reached ({detail}): start it, or correct the broker url")]
    Unreachable {
        /// Where it was sought, without a password.
        server: String,
        /// What the connection said.
        detail: String,
    },
    /// The server did not answer in time; the call may have been applied.
    #[error("broker did not answer within {limit_ms} ms")]
    Timeout {
        /// The limit in milliseconds.
        limit_ms: u64,
    },
    /// The server is at its memory limit; wait and try again.
    #[error("broker is at its memory limit")]
    OutOfMemory,
    /// The server cannot be used as it is configured.
    #[error("broker at {server} cannot be used: {reason}")]
    Unsuitable {
        /// Where it is, without a password.
        server: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The URL or another option does not read.
    #[error("broker configuration does not read: {reason}")]
    Config {
        /// What is wrong and what to do.
        reason: String,
    },
    /// An entry is larger than the server accepts.
    #[error("entry of {bytes} bytes is larger than the broker's limit of {limit} bytes")]
    EntryTooLarge {
        /// Size of the entry.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// What is sealed cannot be opened, or cannot be sealed.
    #[error(transparent)]
    Sealed(#[from] SealError),
    /// The server answered something this version does not understand.
    #[error("broker answered unexpectedly: {detail}")]
    Unexpected {
        /// What it answered.
        detail: String,
    },
}

impl BrokerError {
    /// Whether trying the same call again may help.
    #[must_use]
    pub const fn retryability(&self) -> Retryability {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::OutOfMemory => {
                Retryability::Transient
            }
            Self::Unsuitable { .. }
            | Self::Config { .. }
            | Self::EntryTooLarge { .. }
            | Self::Sealed(_)
            | Self::Unexpected { .. } => Retryability::Fatal,
        }
    }
}
