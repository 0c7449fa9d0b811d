//! Causes for which a handoff fails, and what each means for the job.

use std::time::Duration;

use super::budget::BudgetError;
use super::error::CodecError;
use crate::broker::{BrokerError, Retryability, SealError};
use crate::protocol::{FailureKind, TaskFailure};

/// Why an assignment was not shipped.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// It cannot be coded.
    #[error("assignment cannot be coded: {0}")]
    Codec(#[from] CodecError),
    /// The broker stayed at its memory limit.
    #[error(
        "broker stayed at its memory limit for {} s: raise maxmemory, lower the lookahead or add devices",
        waited.as_secs()
    )]
    BrokerFull {
        /// How long it was waited for.
        waited: Duration,
    },
    /// The broker failed otherwise.
    #[error("assignment cannot be sent: {0}")]
    Broker(#[from] BrokerError),
    /// The task was cancelled or taken back.
    #[error("sending was given up: the task was taken back")]
    Cancelled,
    /// The encoder ended without its result.
    #[error("the encoder ended early: see the log of this worker")]
    EncoderDied,
}

impl PublishError {
    /// What the failure means for the job.
    #[must_use]
    pub fn failure(&self) -> TaskFailure {
        let (kind, code) = match self {
            Self::Codec(_) => (FailureKind::Attempt, "assignment-not-coded"),
            Self::BrokerFull { .. } => (FailureKind::Infrastructure, "broker-full"),
            Self::Broker(error) => (broker_kind(error), "broker-failed"),
            Self::Cancelled => (FailureKind::Infrastructure, "taken-back"),
            Self::EncoderDied => (FailureKind::Attempt, "encoder-died"),
        };
        TaskFailure::new(kind, code, self.to_string())
    }
}

/// Why an assignment was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Nothing of it came.
    #[error("payload is missing: nothing came within {} s", waited.as_secs())]
    PayloadMissing {
        /// How long it was waited for.
        waited: Duration,
    },
    /// Chunks came and then no more, and no manifest.
    #[error(
        "payload is incomplete: after {chunks} chunks nothing more came within {} s",
        waited.as_secs()
    )]
    ManifestMissing {
        /// Chunks that came.
        chunks: usize,
        /// How long it was waited for.
        waited: Duration,
    },
    /// It is damaged, incomplete or another task's.
    #[error("payload is refused: {0}")]
    Payload(#[from] CodecError),
    /// The manifest is not the one that was announced.
    #[error("payload is refused: its manifest is not the one that was announced")]
    OtherManifest,
    /// The broker failed.
    #[error("payload cannot be read: {0}")]
    Broker(#[from] BrokerError),
    /// There is no memory for it.
    #[error(transparent)]
    Memory(BudgetError),
    /// The task was cancelled or taken back.
    #[error("fetching was given up: the task was taken back")]
    Cancelled,
    /// The decoder ended without its result.
    #[error("the decoder ended early: see the log of this worker")]
    DecoderDied,
}

impl FetchError {
    /// What the failure means for the job.
    #[must_use]
    pub fn failure(&self) -> TaskFailure {
        let (kind, code) = match self {
            Self::PayloadMissing { .. } => (FailureKind::BadPayload, "payload-missing"),
            Self::ManifestMissing { .. } => (FailureKind::BadPayload, "payload-incomplete"),
            Self::Payload(error) => payload_kind(error),
            Self::OtherManifest => (FailureKind::BadPayload, "payload-damaged"),
            Self::Broker(BrokerError::Sealed(error)) => sealed_kind(*error),
            Self::Broker(error) => (broker_kind(error), "broker-failed"),
            Self::Memory(error) => return error.failure(),
            Self::Cancelled => (FailureKind::Infrastructure, "taken-back"),
            Self::DecoderDied => (FailureKind::Attempt, "decoder-died"),
        };
        TaskFailure::new(kind, code, self.to_string())
    }
}

impl From<BudgetError> for FetchError {
    fn from(error: BudgetError) -> Self {
        match error {
            BudgetError::Cancelled => Self::Cancelled,
            error => Self::Memory(error),
        }
    }
}

/// What a broken broker says of the attempt: nothing, unless it will break the next one too.
const fn broker_kind(error: &BrokerError) -> FailureKind {
    match error.retryability() {
        Retryability::Transient => FailureKind::Infrastructure,
        Retryability::Fatal => FailureKind::Attempt,
    }
}

/// What a payload that does not open says of it.
const fn sealed_kind(error: SealError) -> (FailureKind, &'static str) {
    match error {
        SealError::NotOpened | SealError::NotSealed => {
            (FailureKind::BadPayload, "payload-not-opened")
        }
        // Another worker, with the cluster key, can read it.
        SealError::BadKey | SealError::NoKey | SealError::NoRandom | SealError::JobKeyGone => {
            (FailureKind::Infrastructure, "payload-sealed")
        }
    }
}

/// Which refusals new synthesis may cure.
const fn payload_kind(error: &CodecError) -> (FailureKind, &'static str) {
    match error {
        // Another worker, of the right version, can read it.
        CodecError::Version { .. } | CodecError::Unsupported { .. } => {
            (FailureKind::Infrastructure, "payload-version")
        }
        CodecError::Foreign { .. } => (FailureKind::BadPayload, "payload-foreign"),
        CodecError::ChunkMissing { .. } => (FailureKind::BadPayload, "payload-incomplete"),
        CodecError::TooManyVariables { .. } | CodecError::EntryLimitTooSmall { .. } => {
            (FailureKind::Attempt, "payload-limits")
        }
        CodecError::Truncated { .. }
        | CodecError::TrailingBytes { .. }
        | CodecError::WrongMagic { .. }
        | CodecError::BlockLength { .. }
        | CodecError::OtherHeader { .. }
        | CodecError::ChunkIndex { .. }
        | CodecError::BlockOrder { .. }
        | CodecError::TooManyBlocks { .. }
        | CodecError::ChunkTooLarge { .. }
        | CodecError::BlockChecksum { .. }
        | CodecError::MalformedBlock { .. }
        | CodecError::NonCanonicalScalar { .. }
        | CodecError::ManifestDigest
        | CodecError::ManifestMismatch { .. }
        | CodecError::ChunkDigest { .. }
        | CodecError::ConflictingChunk { .. } => (FailureKind::BadPayload, "payload-damaged"),
    }
}
