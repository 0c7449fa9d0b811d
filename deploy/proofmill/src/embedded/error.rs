//! Why an embedded cluster does not start or prove.

use proofmill_coordinator::handle::CoordinatorError;
use proofmill_coordinator::view::JobState;
use proofmill_gpu_worker::worker::GpuWorkerError;
use proofmill_shared::broker::BrokerError;
use proofmill_shared::protocol::{IdError, JobId};
use proofmill_shared::telemetry::TelemetryError;
use proofmill_synth_worker::worker::SynthWorkerError;

use super::READY_LIMIT;
use crate::exit::Exit;

/// Why an embedded cluster does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The broker cannot be used.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// A worker's name is not legal.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A synth worker does not start.
    #[error("synth worker does not start")]
    Synth(#[from] SynthWorkerError),
    /// A GPU worker does not start.
    #[error("GPU worker does not start")]
    Gpu(#[from] GpuWorkerError),
    /// The coordinator does not come up.
    #[error("coordinator took no jobs within {} s", READY_LIMIT.as_secs())]
    NotReady,
}

/// Why the embedded cluster did not prove.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EmbeddedError {
    /// It does not start.
    #[error(transparent)]
    Cluster(#[from] StartError),
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

impl EmbeddedError {
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
