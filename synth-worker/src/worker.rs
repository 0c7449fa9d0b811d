//! A running synth worker: started, drained.

use std::sync::Arc;
use std::time::Duration;

use actix::{Addr, SyncArbiter};
use bytes::Bytes;
use proofmill_shared::assignment::AssignmentBudget;
use proofmill_shared::broker::{BrokerError, BrokerHandle};
use proofmill_shared::config::HandoffChoice;
use proofmill_shared::distribution::ArtifactSource;
use proofmill_shared::groth16::{Store, StoreError};
use proofmill_shared::membership::{JournalContext, MemberOptions, Membership};
use proofmill_shared::protocol::{Incarnation, PROTOCOL_VERSION, Role, WorkerId, WorkerRecord};
use proofmill_shared::telemetry::spans::attributes::messaging_system;
use proofmill_shared::telemetry::{ClusterClock, SpanSink};
use tokio::runtime::Handle;

use crate::actors::{DrainFlag, InputCache, Synthesizer, TaskIntake};
use crate::circuit::{CircuitError, CircuitRegistry};
use crate::handoff::Handoff;

/// Why a synth worker does not start.
#[derive(Debug, thiserror::Error)]
pub enum SynthWorkerError {
    /// The broker cannot be used.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// A circuit cannot be registered.
    #[error("circuit cannot be registered: {0}")]
    Circuit(#[from] CircuitError),
    /// A shape cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record cannot be written.
    #[error("circuit record cannot be written: {0}")]
    Record(#[from] serde_json::Error),
    /// A thread ended.
    #[error("a circuit's shape was not recorded: its thread ended")]
    Thread,
}

/// How a synth worker runs.
#[derive(Debug, Clone)]
pub struct SynthWorkerOptions {
    /// Its name.
    pub id: WorkerId,
    /// The broker.
    pub broker: BrokerHandle,
    /// The cluster's clock.
    pub clock: ClusterClock,
    /// Where spans go.
    pub spans: SpanSink,
    /// Where shapes are kept for GPU workers of this host.
    pub store: Store,
    /// The coordinator that is given the shapes it lacks.
    pub source: Option<ArtifactSource>,
    /// The circuits it runs.
    pub registry: CircuitRegistry,
    /// What travels.
    pub handoff: HandoffChoice,
    /// Memory that its assignments share.
    pub budget: AssignmentBudget,
    /// Tasks it runs at a time, each on a thread of its own.
    pub slots: u32,
    /// Tasks it holds beyond those it runs.
    pub prefetch: u32,
}

impl SynthWorkerOptions {
    /// One slot, one task in advance, no spans.
    #[must_use]
    pub fn new(
        id: WorkerId,
        broker: BrokerHandle,
        clock: ClusterClock,
        store: Store,
        registry: CircuitRegistry,
    ) -> Self {
        Self {
            id,
            broker,
            clock,
            spans: SpanSink::disabled(),
            store,
            registry,
            source: None,
            handoff: HandoffChoice::Auto,
            budget: AssignmentBudget::unlimited(),
            slots: 1,
            prefetch: 1,
        }
    }
}

/// A running synth worker. Ends by [`SynthWorker::drain`].
#[derive(Debug)]
pub struct SynthWorker {
    membership: Membership,
    intake: Addr<TaskIntake>,
    draining: DrainFlag,
}

impl SynthWorker {
    /// Registers the circuits and joins the cluster. Must be called inside an actix system.
    ///
    /// # Errors
    /// Every [`SynthWorkerError`].
    pub async fn start(options: SynthWorkerOptions) -> Result<Self, SynthWorkerError> {
        register(&options).await?;
        offer_shapes(&options);
        let SynthWorkerOptions {
            id,
            broker,
            clock,
            spans,
            registry,
            slots,
            prefetch,
            handoff,
            budget,
            ..
        } = options;
        let record = WorkerRecord {
            id,
            incarnation: Incarnation::generate(),
            role: Role::Synth,
            protocol: PROTOCOL_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: proofmill_shared::config::host_name(),
            started_at: clock.now(),
            slots,
            prefetch,
            circuits: registry.ids().cloned().collect(),
            warm: Vec::new(),
            device: None,
            held: Vec::new(),
            is_draining: false,
            needs_evaluations: false,
            clock_offset_micros: clock.wall_offset_micros(),
            clock_uncertainty_micros: 0,
        };
        let epoch = broker.cluster_epoch().await?;
        let messaging_system = messaging_system(&broker.describe());
        let (membership, tasks) =
            Membership::join(MemberOptions::new(broker, clock, record)).await?;
        let journal = JournalContext {
            emitter: membership.emitter().clone(),
            spans,
            epoch,
            messaging_system,
            device: None,
        };
        let (runtime, inputs, draining) = (
            Handle::current(),
            InputCache::default(),
            DrainFlag::default(),
        );
        let handoff = Handoff::new(handoff, budget);
        let slots = SyncArbiter::start(slots as usize, {
            let draining = draining.clone();
            move || {
                let (registry, inputs) = (registry.clone(), inputs.clone());
                let (runtime, draining) = (runtime.clone(), draining.clone());
                Synthesizer::new(registry, inputs, runtime, draining, handoff.clone())
            }
        });
        let intake = TaskIntake::start_on(Arc::new(journal), slots, tasks);
        Ok(Self {
            membership,
            intake,
            draining,
        })
    }

    /// Takes no more tasks, hands back those that did not start, finishes those that did within `limit`, and leaves; true
    /// if nothing was given up.
    pub async fn drain(&self, limit: Duration) -> bool {
        self.draining.raise();
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

/// How late the end of the inbox is noticed.
const END_POLL: Duration = Duration::from_millis(200);

/// Gives the coordinator the shapes it lacks, beside the work. Workers that lack them too are told what to do, so that a
/// coordinator that cannot be reached stops nothing here.
fn offer_shapes(options: &SynthWorkerOptions) {
    let Some(source) = options.source.clone() else {
        return;
    };
    let (registry, store) = (options.registry.clone(), options.store.clone());
    let offering = move || {
        for circuit in registry.circuits() {
            let Ok(shape) = circuit.shape() else { continue };
            match source.offer_shape(&store, shape.digest) {
                Ok(true) => tracing::info!(circuit = %circuit.id(), "coordinator took the shape"),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(circuit = %circuit.id(), %error, "coordinator did not take the shape")
                }
            }
        }
    };
    drop(tokio::task::spawn_blocking(offering));
}

/// Records the shape of every circuit, stores it, and says what there is.
async fn register(options: &SynthWorkerOptions) -> Result<(), SynthWorkerError> {
    for circuit in options.registry.circuits() {
        let (recorded, store) = (circuit.clone(), options.store.clone());
        let record = tokio::task::spawn_blocking(move || {
            store.put_shape(&*recorded.shape()?)?;
            Ok::<_, SynthWorkerError>(recorded.record()?)
        });
        let record = record.await.map_err(|_| SynthWorkerError::Thread)??;
        let body = Bytes::from(serde_json::to_vec(&record)?);
        options.broker.put_circuit(&record.id, body).await?;
    }
    Ok(())
}
