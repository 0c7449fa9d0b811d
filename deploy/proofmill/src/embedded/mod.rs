//! The embedded cluster: every actor of a real one in one process, over the in-memory broker.
//!
//! *Layout*: `jobs` (submits inputs and waits for their proofs), `error` (why it does not start or prove).

mod error;
mod jobs;

use std::time::Duration;

use proofmill_coordinator::actors::{Coordinator, CoordinatorOptions};
use proofmill_coordinator::handle::CoordinatorHandle;
use proofmill_gpu_worker::worker::{GpuWorker, GpuWorkerOptions};
use proofmill_shared::broker::{BrokerHandle, MemoryBroker, MemoryConfig};
use proofmill_shared::config::INPUT_BYTES_MAX_DEFAULT;
use proofmill_shared::groth16::Store;
use proofmill_shared::protocol::WorkerId;
use proofmill_shared::telemetry::{ClusterClock, Telemetry};
use proofmill_synth_worker::circuit::CircuitRegistry;
use proofmill_synth_worker::worker::{SynthWorker, SynthWorkerOptions};

pub(crate) use self::error::{EmbeddedError, StartError};
pub(crate) use self::jobs::{Input, Outcome, prove_all};

/// Longest wait for a worker to finish what it holds when the cluster stops.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);

/// Longest wait for the coordinator to take its first job.
const READY_LIMIT: Duration = Duration::from_secs(10);

/// Time between two looks whether it does.
const READY_POLL: Duration = Duration::from_millis(5);

/// How many of what.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Size {
    /// Synthesis workers, one slot each.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) synth_workers: u32,
    /// GPU workers, each with a device of its own; on a machine without a GPU they prove on the CPU and share its cores.
    #[arg(long, value_name = "G", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) gpu_workers: u32,
}

/// A running cluster within this process. Ends by [`EmbeddedCluster::stop`].
pub(crate) struct EmbeddedCluster {
    coordinator: CoordinatorHandle,
    clock: ClusterClock,
    synth_workers: Vec<SynthWorker>,
    gpu_workers: Vec<GpuWorker>,
}

impl EmbeddedCluster {
    /// Starts a cluster; must be called inside an actix system.
    pub(crate) async fn start(
        size: Size,
        store: &Store,
        registry: CircuitRegistry,
        telemetry: &Telemetry,
    ) -> Result<Self, StartError> {
        let broker: BrokerHandle = MemoryBroker::start(MemoryConfig::default());
        let clock = ClusterClock::measure(&*broker).await?;
        let coordinator = Coordinator::start(CoordinatorOptions {
            spans: telemetry.sink_for("coordinator", "coordinator"),
            ..CoordinatorOptions::new(
                broker.clone(),
                clock.clone(),
                INPUT_BYTES_MAX_DEFAULT.as_usize(),
            )
        });
        let mut gpu_workers = Vec::new();
        for index in 0..size.gpu_workers {
            let id = WorkerId::new(format!("gpu-{index}"))?;
            let options = GpuWorkerOptions {
                spans: telemetry.sink_for("gpu-worker", id.as_str()),
                ..GpuWorkerOptions::new(id, broker.clone(), clock.clone(), store.clone())
            };
            gpu_workers.push(GpuWorker::start(options).await?);
        }
        let mut synth_workers = Vec::new();
        for index in 0..size.synth_workers {
            let id = WorkerId::new(format!("synth-{index}"))?;
            let options = SynthWorkerOptions {
                spans: telemetry.sink_for("synth-worker", id.as_str()),
                ..SynthWorkerOptions::new(
                    id,
                    broker.clone(),
                    clock.clone(),
                    store.clone(),
                    registry.clone(),
                )
            };
            synth_workers.push(SynthWorker::start(options).await?);
        }
        let cluster = Self {
            coordinator,
            clock,
            synth_workers,
            gpu_workers,
        };
        cluster.ready().await?;
        Ok(cluster)
    }

    /// The coordinator, as clients see it.
    pub(crate) fn coordinator(&self) -> CoordinatorHandle {
        self.coordinator.clone()
    }

    /// The cluster's clock.
    pub(crate) fn clock(&self) -> ClusterClock {
        self.clock.clone()
    }

    async fn ready(&self) -> Result<(), StartError> {
        let ready = async {
            while !self.coordinator.is_ready() {
                tokio::time::sleep(READY_POLL).await;
            }
        };
        tokio::time::timeout(READY_LIMIT, ready)
            .await
            .map_err(|_| StartError::NotReady)
    }

    /// Drains the workers, then stops the coordinator.
    pub(crate) async fn stop(self) {
        futures::future::join_all(
            self.synth_workers
                .iter()
                .map(|worker| worker.drain(DRAIN_LIMIT)),
        )
        .await;
        futures::future::join_all(
            self.gpu_workers
                .iter()
                .map(|worker| worker.drain(DRAIN_LIMIT)),
        )
        .await;
        self.coordinator.stop().await;
    }
}
