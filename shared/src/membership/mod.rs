//! How a worker belongs to the cluster: heartbeat, inbox, control orders, events.
//!
//! *Layout*: `heart` (the heartbeat on an OS thread of its own), `inbox` (assignments in, acknowledgements out),
//! `control` (cancel and take-back), `held` (what this worker holds, and the ticket for each), `emitter` (events to the
//! coordinator), `containment` (panics that may happen, and panics that must end the process).
//!
//! Both kinds of workers join in the same way and know nothing of each other.

mod containment;
mod control;
mod emitter;
mod heart;
mod held;
mod inbox;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

pub use containment::{Contained, contain, exit_on_panic};
pub use emitter::EventEmitter;
pub use held::{CancelFlag, Ticket};

use self::heart::Heart;
use self::held::HeldTable;
use crate::broker::{BrokerError, BrokerHandle};
use crate::protocol::{Task, TraceContext, WorkerRecord};
use crate::telemetry::ClusterClock;

/// Time between two heartbeats.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// A worker is lost when its heartbeat is older than this: five missed beats, so that one slow answer is not death.
pub const HEARTBEAT_TTL: Duration = Duration::from_secs(5);

/// How a worker joins.
#[derive(Debug, Clone)]
pub struct MemberOptions {
    /// The broker.
    pub broker: BrokerHandle,
    /// The cluster's clock.
    pub clock: ClusterClock,
    /// What the worker says of itself; what it holds is filled in with every beat.
    pub record: WorkerRecord,
    /// Time between two heartbeats.
    pub heartbeat_interval: Duration,
    /// A worker is lost when its heartbeat is older than this.
    pub heartbeat_ttl: Duration,
}

impl MemberOptions {
    /// Options with the default heartbeat.
    #[must_use]
    pub const fn new(broker: BrokerHandle, clock: ClusterClock, record: WorkerRecord) -> Self {
        Self {
            broker,
            clock,
            record,
            heartbeat_interval: HEARTBEAT_INTERVAL,
            heartbeat_ttl: HEARTBEAT_TTL,
        }
    }
}

/// One task assigned to this worker, with the ticket that stands for holding it.
#[derive(Debug)]
pub struct Assigned {
    /// The task.
    pub task: Task,
    /// Trace context of the assignment.
    pub trace: TraceContext,
    /// Held until the effect is durable or the task is refused.
    pub ticket: Ticket,
}

/// A worker's place in the cluster; cheap to clone.
///
/// Ends by [`Membership::leave`]. Dropping every clone without it looks like death to the cluster, which is right for a
/// process that failed.
#[derive(Debug, Clone)]
pub struct Membership {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    emitter: EventEmitter,
    held: HeldTable,
    record: Arc<Mutex<WorkerRecord>>,
    heart: Mutex<Option<Heart>>,
    is_reading: watch::Sender<bool>,
}

impl Membership {
    /// Joins the cluster: first heartbeat, then inbox and control stream. Assigned tasks arrive on the receiver, which
    /// ends when the worker drains or its broker cannot be read any more.
    ///
    /// Must be called inside a Tokio runtime; the readers run there.
    ///
    /// # Errors
    /// The [`BrokerError`] of the first heartbeat or of opening a stream.
    pub async fn join(
        options: MemberOptions,
    ) -> Result<(Self, mpsc::Receiver<Assigned>), BrokerError> {
        let MemberOptions {
            broker,
            clock,
            record,
            heartbeat_interval,
            heartbeat_ttl,
        } = options;
        let worker = record.id.clone();
        let capacity = record.slots.saturating_add(record.prefetch).max(1) as usize;
        let emitter = EventEmitter::new(
            broker.clone(),
            clock.clone(),
            worker.clone(),
            record.incarnation,
        );
        let record = Arc::new(Mutex::new(record));
        let held = HeldTable::default();
        let inbox = broker.open_inbox(&worker).await?;
        let control = broker.open_control(&worker).await?;
        let line = broker.open_heartbeat(&worker).await?;
        let heart = Heart::start(
            line,
            Arc::clone(&record),
            held.clone(),
            clock,
            heartbeat_interval,
            heartbeat_ttl,
        )?;
        let (is_reading, reading) = watch::channel(true);
        let (assigned, tasks) = mpsc::channel(capacity);
        tokio::spawn(inbox::pump(
            inbox,
            held.clone(),
            emitter.clone(),
            assigned,
            reading,
        ));
        tokio::spawn(control::obey(control, held.clone(), is_reading.subscribe()));
        let inner = Inner {
            emitter,
            held,
            record,
            heart: Mutex::new(Some(heart)),
            is_reading,
        };
        Ok((
            Self {
                inner: Arc::new(inner),
            },
            tasks,
        ))
    }

    /// Publishes events in this worker's name.
    #[must_use]
    pub fn emitter(&self) -> &EventEmitter {
        &self.inner.emitter
    }

    /// Changes what the worker says of itself, from its next heartbeat on.
    pub fn update(&self, change: impl FnOnce(&mut WorkerRecord)) {
        change(&mut self.inner.record.lock());
    }

    /// Takes no more tasks: the coordinator sees it with the next beat, and the task receiver ends.
    pub fn drain(&self) {
        self.update(|record| record.is_draining = true);
        self.inner.is_reading.send_replace(false);
        if let Some(heart) = self.inner.heart.lock().as_ref() {
            heart.beat_now();
        }
    }

    /// Number of tasks held, started or not.
    #[must_use]
    pub fn held_count(&self) -> usize {
        self.inner.held.len()
    }

    /// Waits until nothing is held, at most `limit`; true if nothing is held.
    pub async fn drained(&self, limit: Duration) -> bool {
        self.inner.held.emptied(limit).await
    }

    /// Leaves the cluster: the worker's record goes at once, and whatever it still holds is given to others.
    pub async fn leave(&self) {
        self.inner.is_reading.send_replace(false);
        let heart = self.inner.heart.lock().take();
        if let Some(heart) = heart {
            // Joining a thread blocks; its last beat is bounded by the connection's own time-out.
            if tokio::task::spawn_blocking(move || heart.stop())
                .await
                .is_err()
            {
                tracing::warn!("heartbeat thread could not be joined");
            }
        }
    }
}
