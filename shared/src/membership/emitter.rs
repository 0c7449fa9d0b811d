//! Events to the coordinator.

use std::time::Duration;

use crate::broker::{BrokerError, BrokerHandle, Retryability};
use crate::protocol::{
    Envelope, EventMessage, Incarnation, TaskKey, TraceContext, UnixMicros, WorkerEvent, WorkerId,
};
use crate::telemetry::{ClusterClock, TimelineRecord};

/// How long an event is tried before it is left to the coordinator's reconciler, which finds the effect by itself.
const EMIT_LIMIT: Duration = Duration::from_secs(30);

/// First wait between two tries; doubles up to [`EMIT_BACKOFF_MAX`].
const EMIT_BACKOFF: Duration = Duration::from_millis(50);

/// Longest wait between two tries.
const EMIT_BACKOFF_MAX: Duration = Duration::from_secs(2);

/// Publishes events in the name of one life of one worker. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EventEmitter {
    broker: BrokerHandle,
    clock: ClusterClock,
    worker: WorkerId,
    incarnation: Incarnation,
}

impl EventEmitter {
    pub(super) const fn new(
        broker: BrokerHandle,
        clock: ClusterClock,
        worker: WorkerId,
        incarnation: Incarnation,
    ) -> Self {
        Self {
            broker,
            clock,
            worker,
            incarnation,
        }
    }

    /// The worker in whose name events are published.
    #[must_use]
    pub const fn worker(&self) -> &WorkerId {
        &self.worker
    }

    /// The broker.
    #[must_use]
    pub const fn broker(&self) -> &BrokerHandle {
        &self.broker
    }

    /// The cluster's clock.
    #[must_use]
    pub const fn clock(&self) -> &ClusterClock {
        &self.clock
    }

    /// The cluster's time now.
    #[must_use]
    pub fn now(&self) -> UnixMicros {
        self.clock.now()
    }

    /// Publishes an event; transient failures are tried again for a while. Never fails: an event is a hint, and the
    /// effect it tells of is durable already.
    pub async fn emit(&self, key: TaskKey, event: WorkerEvent, timeline: Vec<TimelineRecord>) {
        let message = EventMessage {
            worker: self.worker.clone(),
            incarnation: self.incarnation,
            key,
            event,
            timeline,
        };
        let body = match Envelope::new(message, TraceContext::default(), self.now()).encode() {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(?key, %error, "event cannot be written");
                return;
            }
        };
        let deadline = tokio::time::Instant::now() + EMIT_LIMIT;
        let mut backoff = EMIT_BACKOFF;
        while let Err(error) = self.broker.emit_event(body.clone()).await {
            if !self.may_retry(&error, deadline) {
                tracing::warn!(?key, %error, "event is lost, the coordinator finds its effect by itself");
                return;
            }
            tokio::time::sleep(backoff).await;
            backoff = (backoff * 2).min(EMIT_BACKOFF_MAX);
        }
    }

    fn may_retry(&self, error: &BrokerError, deadline: tokio::time::Instant) -> bool {
        error.retryability() == Retryability::Transient && tokio::time::Instant::now() < deadline
    }
}
