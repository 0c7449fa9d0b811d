//! What all actors of one coordinator share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;
use proofmill_shared::broker::{BrokerHandle, LeaderToken};
use proofmill_shared::protocol::{CircuitId, CircuitRecord, UnixMicros};
use proofmill_shared::telemetry::SpanSink;
use tokio::sync::{broadcast, watch};

use super::coordinator::CoordinatorOptions;
use super::ending::CoordinatorEnd;
use crate::handle::JobChange;

/// Changes that a slow subscriber may lag behind before it misses some: a few seconds of a busy cluster.
const CHANGES_CAPACITY: usize = 1_024;

/// Broker, clock, limits, and the few facts that every part needs at once.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) options: CoordinatorOptions,
    pub(crate) changes: broadcast::Sender<JobChange>,
    end: watch::Sender<Option<CoordinatorEnd>>,
    leader: AtomicU64,
    is_ready: AtomicBool,
    active: AtomicUsize,
    needs_evaluations: AtomicBool,
    epoch: OnceLock<UnixMicros>,
    circuits: RwLock<Vec<CircuitRecord>>,
}

impl Site {
    pub(crate) fn new(options: CoordinatorOptions) -> Self {
        Self {
            options,
            changes: broadcast::channel(CHANGES_CAPACITY).0,
            end: watch::channel(None).0,
            leader: AtomicU64::new(0),
            is_ready: AtomicBool::new(false),
            active: AtomicUsize::new(0),
            needs_evaluations: AtomicBool::new(false),
            epoch: OnceLock::new(),
            circuits: RwLock::new(Vec::new()),
        }
    }

    pub(crate) fn broker(&self) -> &BrokerHandle {
        &self.options.broker
    }

    pub(crate) const fn spans(&self) -> &SpanSink {
        &self.options.spans
    }

    pub(crate) fn now(&self) -> UnixMicros {
        self.options.clock.now()
    }

    /// The lead under which this coordinator writes.
    pub(crate) fn leader(&self) -> LeaderToken {
        LeaderToken(self.leader.load(Ordering::Acquire))
    }

    pub(crate) fn set_leader(&self, token: LeaderToken) {
        self.leader.store(token.0, Ordering::Release);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Acquire) && !self.is_ending()
    }

    pub(crate) fn set_ready(&self, is_ready: bool) {
        self.is_ready.store(is_ready, Ordering::Release);
    }

    /// Jobs that have not ended, for a quick look before a submission is read.
    pub(crate) fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    pub(crate) fn set_active(&self, active: usize) {
        self.active.store(active, Ordering::Relaxed);
    }

    /// True if some GPU worker holds no matrices: assignments must bring their evaluations.
    pub(crate) fn needs_evaluations(&self) -> bool {
        self.needs_evaluations.load(Ordering::Relaxed)
    }

    pub(crate) fn set_needs_evaluations(&self, is_needed: bool) {
        self.needs_evaluations.store(is_needed, Ordering::Relaxed);
    }

    /// The instant from which timelines count; the Unix epoch until the broker has told.
    pub(crate) fn epoch(&self) -> UnixMicros {
        self.epoch.get().copied().unwrap_or_default()
    }

    pub(crate) fn set_epoch(&self, epoch: UnixMicros) {
        if self.epoch.set(epoch).is_err() {
            tracing::debug!("cluster epoch was known");
        }
    }

    pub(crate) fn circuit(&self, id: &CircuitId) -> Option<CircuitRecord> {
        let circuits = self.circuits.read();
        circuits.iter().find(|circuit| circuit.id == *id).cloned()
    }

    pub(crate) fn set_circuits(&self, circuits: Vec<CircuitRecord>) {
        *self.circuits.write() = circuits;
    }

    /// Says how the coordinator ends; the first to say so is heard.
    pub(crate) fn finish(&self, end: CoordinatorEnd) {
        self.end.send_if_modified(|current| {
            let is_first = current.is_none();
            if is_first {
                *current = Some(end);
            }
            is_first
        });
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.end.borrow().is_some()
    }

    /// Waits until the coordinator ends.
    pub(crate) async fn ended(&self) -> CoordinatorEnd {
        let mut end = self.end.subscribe();
        let seen = end.wait_for(Option::is_some).await;
        seen.ok()
            .and_then(|end| end.clone())
            .unwrap_or(CoordinatorEnd::Stopped)
    }
}
