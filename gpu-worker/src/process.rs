//! The GPU worker process: broker, clock and worker, from start to an orderly stop.

use std::time::Duration;

use proofmill_shared::assignment::AssignmentBudget;
use proofmill_shared::broker::{BrokerHandle, Retryability};
use proofmill_shared::config::ConfigError;
use proofmill_shared::groth16::Store;
use proofmill_shared::membership::{Signals, keep_clock};
use proofmill_shared::telemetry::{ClusterClock, SpanSink, TelemetryError};
use tracing::{info, warn};

use crate::config::Config;
use crate::worker::{GpuWorker, GpuWorkerError, GpuWorkerOptions};

/// How long a stopping worker may go on with what it holds; what is left then is given to others.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);

/// Why the GPU worker process failed.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The configuration is refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Spans cannot be exported as configured.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// The worker does not start.
    #[error(transparent)]
    Worker(#[from] GpuWorkerError),
    /// Signals cannot be received.
    #[error("cannot listen for signals")]
    Signals(#[source] std::io::Error),
    /// The broker could not be read any more.
    #[error("inbox ended by itself: the log says why")]
    Ended,
}

impl ProcessError {
    /// Exit code: 1 failed, 2 usage or configuration, 4 broker unreachable.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Telemetry(_) => 2,
            Self::Worker(GpuWorkerError::Broker(error)) => match error.retryability() {
                Retryability::Transient => 4,
                Retryability::Fatal => 2,
            },
            Self::Worker(_) | Self::Signals(_) | Self::Ended => 1,
        }
    }
}

/// Runs a GPU worker until a signal. Must be called inside an actix system.
///
/// # Errors
/// [`ProcessError`], if it cannot start, or ends without being asked to.
pub async fn run(
    config: &Config,
    broker: BrokerHandle,
    spans: SpanSink,
) -> Result<(), ProcessError> {
    let mut signals = Signals::listen().map_err(ProcessError::Signals)?;
    let report = broker.check().await.map_err(GpuWorkerError::from)?;
    if report.is_exposed() {
        warn!(
            "broker is on another machine and witnesses travel to it in the clear: set broker.cluster_key in every process"
        );
    }
    let clock = ClusterClock::measure(&*broker)
        .await
        .map_err(GpuWorkerError::from)?;
    let options = GpuWorkerOptions {
        spans,
        source: config.store.source.clone(),
        shapes: config.worker.shapes,
        budget: AssignmentBudget::new(config.worker.assignment_budget_bytes),
        device: config
            .worker
            .device
            .parse()
            .map_err(GpuWorkerError::Device)?,
        prefetch: config.worker.prefetch,
        key_budget_bytes: config.worker.key_budget_bytes.as_u64(),
        ..GpuWorkerOptions::new(
            config.worker.id.clone(),
            broker.clone(),
            clock.clone(),
            Store::new(config.store.home.clone()),
        )
    };
    let worker = GpuWorker::start(options).await?;
    info!(id = %config.worker.id, device = worker.device().name, server = report.server, "GPU worker joined");
    let keeper = actix::spawn(keep_clock(clock, broker));
    let outcome = tokio::select! {
        name = signals.next() => {
            info!(signal = name, "GPU worker drains");
            Ok(())
        }
        () = worker.ended() => Err(ProcessError::Ended),
    };
    tokio::select! {
        is_empty = worker.drain(DRAIN_LIMIT) => info!(is_empty, "GPU worker left"),
        name = signals.next() => warn!(signal = name, "second signal, ended at once: tasks in hand go to others"),
    }
    keeper.abort();
    outcome
}
