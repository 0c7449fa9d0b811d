//! A running GPU worker: started, drained.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Addr};
use proofmill_shared::assignment::{AssignmentBudget, AssignmentFetcher, PayloadMode};
use proofmill_shared::broker::{BrokerError, BrokerHandle};
use proofmill_shared::config::ShapeResidency;
use proofmill_shared::distribution::ArtifactSource;
use proofmill_shared::groth16::Store;
use proofmill_shared::membership::{JournalContext, MemberOptions, Membership};
use proofmill_shared::protocol::{
    DeviceRecord, Incarnation, PROTOCOL_VERSION, Role, WorkerId, WorkerRecord,
};
use proofmill_shared::telemetry::spans::attributes::messaging_system;
use proofmill_shared::telemetry::{ClusterClock, SpanSink};

use crate::actors::{AssignmentIntake, DeviceOwner, ProofPublisher, Way};
use crate::device::{Device, DeviceChoice, DeviceError, DeviceOptions};

/// How late the end of the inbox is noticed.
const END_POLL: Duration = Duration::from_millis(200);

/// Why a GPU worker does not start.
#[derive(Debug, thiserror::Error)]
pub enum GpuWorkerError {
    /// The broker cannot be used.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// There is no such device, or it miscalculates.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The device could not be opened: its thread ended.
    #[error("device was not opened: its thread ended")]
    DeviceThread,
    /// The system gives no thread.
    #[error("device thread could not be started: allow the process more threads")]
    Thread(#[source] std::io::Error),
}

/// How a GPU worker runs.
#[derive(Debug, Clone)]
pub struct GpuWorkerOptions {
    /// Its name.
    pub id: WorkerId,
    /// The broker.
    pub broker: BrokerHandle,
    /// The cluster's clock.
    pub clock: ClusterClock,
    /// Where spans go.
    pub spans: SpanSink,
    /// Where shapes and keys are.
    pub store: Store,
    /// Where shapes and keys come from that are not there.
    pub source: Option<ArtifactSource>,
    /// How much of shapes is held.
    pub shapes: ShapeResidency,
    /// What to prove on.
    pub device: DeviceChoice,
    /// Assignments it fetches and decodes beyond the one it proves.
    pub prefetch: u32,
    /// Memory that its assignments share.
    pub budget: AssignmentBudget,
    /// Bytes of keys and shapes kept resident.
    pub key_budget_bytes: u64,
}

impl GpuWorkerOptions {
    /// One assignment in advance, an automatic device, no spans.
    #[must_use]
    pub fn new(id: WorkerId, broker: BrokerHandle, clock: ClusterClock, store: Store) -> Self {
        Self {
            id,
            broker,
            clock,
            spans: SpanSink::disabled(),
            store,
            source: None,
            shapes: ShapeResidency::Full,
            device: DeviceChoice::Auto,
            prefetch: 1,
            budget: AssignmentBudget::unlimited(),
            key_budget_bytes: proofmill_shared::config::KEY_BUDGET_BYTES_DEFAULT.as_u64(),
        }
    }
}

/// A running GPU worker. Ends by [`GpuWorker::drain`].
#[derive(Debug)]
pub struct GpuWorker {
    membership: Membership,
    intake: Addr<AssignmentIntake>,
    device: DeviceRecord,
}

impl GpuWorker {
    /// Opens the device, lets it prove a known answer, and joins the cluster. Must be called inside an actix system.
    ///
    /// # Errors
    /// Every [`GpuWorkerError`].
    pub async fn start(options: GpuWorkerOptions) -> Result<Self, GpuWorkerError> {
        let GpuWorkerOptions {
            id,
            broker,
            clock,
            spans,
            store,
            source,
            shapes,
            device,
            prefetch,
            budget,
            key_budget_bytes,
        } = options;
        let device = DeviceOptions {
            choice: device,
            num_threads: None,
            store,
            source,
            shapes,
            resident_budget: key_budget_bytes,
        };
        let opened = tokio::task::spawn_blocking(move || Device::open(device)).await;
        let device = Arc::new(opened.map_err(|_| GpuWorkerError::DeviceThread)??);
        let seen = device.record().clone();
        tracing::info!(
            device = seen.name,
            backend = seen.backend,
            reason = seen.reason,
            "device chosen"
        );
        let record = record(id, prefetch, shapes, seen.clone(), &clock);
        let epoch = broker.cluster_epoch().await?;
        let messaging_system = messaging_system(&broker.describe());
        let (membership, tasks) =
            Membership::join(MemberOptions::new(broker, clock, record)).await?;
        let journal = Arc::new(JournalContext {
            emitter: membership.emitter().clone(),
            spans,
            epoch,
            messaging_system,
            device: Some(seen.name.clone()),
        });
        let publisher = ProofPublisher {
            device: seen.name.clone(),
        }
        .start();
        let owner = DeviceOwner::start_on(Arc::clone(&device), publisher)?;
        let expected = match shapes {
            ShapeResidency::Full => PayloadMode::Witness,
            ShapeResidency::Summary => PayloadMode::Evaluated,
        };
        let fetcher =
            AssignmentFetcher::new(journal.emitter.broker().clone()).within(budget, expected);
        let way = Way {
            membership: membership.clone(),
            journal,
            fetcher,
            device,
            owner,
        };
        let intake = AssignmentIntake::start_on(way, tasks);
        Ok(Self {
            membership,
            intake,
            device: seen,
        })
    }

    /// The device it proves on.
    #[must_use]
    pub const fn device(&self) -> &DeviceRecord {
        &self.device
    }

    /// Takes no more tasks, finishes what it holds within `limit`, and leaves; true if nothing was given up.
    pub async fn drain(&self, limit: Duration) -> bool {
        self.membership.drain();
        let is_empty = self.membership.drained(limit).await;
        self.membership.leave().await;
        is_empty
    }

    /// Waits until the worker can take no more tasks: it drains, or its broker cannot be read any more.
    pub async fn ended(&self) {
        while self.intake.connected() {
            tokio::time::sleep(END_POLL).await;
        }
    }
}

/// What the worker says of itself at first.
fn record(
    id: WorkerId,
    prefetch: u32,
    shapes: ShapeResidency,
    device: DeviceRecord,
    clock: &ClusterClock,
) -> WorkerRecord {
    WorkerRecord {
        id,
        incarnation: Incarnation::generate(),
        role: Role::Gpu,
        protocol: PROTOCOL_VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: proofmill_shared::config::host_name(),
        started_at: clock.now(),
        slots: 1,
        prefetch,
        circuits: Vec::new(),
        warm: Vec::new(),
        device: Some(device),
        held: Vec::new(),
        is_draining: false,
        needs_evaluations: shapes == ShapeResidency::Summary,
        clock_offset_micros: clock.wall_offset_micros(),
        clock_uncertainty_micros: 0,
    }
}
