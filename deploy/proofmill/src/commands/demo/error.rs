//! Why a demo fails.

use proofmill_coordinator::handle::CoordinatorError;
use proofmill_coordinator::view::JobState;
use proofmill_shared::protocol::{IdError, JobId};
use proofmill_shared::telemetry::TelemetryError;

use crate::embedded::EmbeddedError;
use crate::exit::Exit;

/// Why the embedded cluster did not prove.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    /// It does not start.
    #[error(transparent)]
    Cluster(#[from] EmbeddedError),
    /// Its coordinator refuses.
    #[error(transparent)]
    Coordinator(#[from] CoordinatorError),
    /// Spans cannot be exported as configured.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// A name is not legal.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A job ended otherwise.
    #[error("{name}: job {job} was not proved: {reason}")]
    NotProved {
        /// The input.
        name: String,
        /// Its job.
        job: JobId,
        /// How it ended.
        state: JobState,
        /// Why.
        reason: String,
    },
    /// The digest that the proofs show is not the file's.
    #[error("{name}: the proofs show digest {proven}, the file has {found}")]
    OtherDigest {
        /// The input.
        name: String,
        /// As proven.
        proven: String,
        /// As computed here.
        found: String,
    },
    /// The API's address cannot be used.
    #[error(transparent)]
    Serve(#[from] proofmill_coordinator::api::ServeError),
    /// The system refuses.
    #[error("embedded cluster cannot go on")]
    System(#[from] std::io::Error),
}

impl DemoError {
    /// The exit code it means.
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Telemetry(_) | Self::Serve(_) => Exit::Usage,
            Self::NotProved { state, .. } => Exit::of_job(*state),
            Self::Coordinator(CoordinatorError::InputTooLarge { .. }) => Exit::Rejected,
            Self::Cluster(_)
            | Self::Coordinator(_)
            | Self::Id(_)
            | Self::OtherDigest { .. }
            | Self::System(_) => Exit::Failed,
        }
    }

    /// A stable code for programs.
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::Cluster(_) => "cluster-not-started",
            Self::Coordinator(_) => "refused",
            Self::Telemetry(_) => "bad-telemetry",
            Self::Id(_) => "bad-id",
            Self::NotProved { .. } => "not-proved",
            Self::OtherDigest { .. } => "other-digest",
            Self::Serve(_) => "not-served",
            Self::System(_) => "system",
        }
    }
}
