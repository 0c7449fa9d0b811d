//! Whole coordinators over a broker, with workers that prove nothing.

mod fakes;
mod life;
mod losses;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proofmill_shared::broker::{BrokerHandle, MemoryBroker, MemoryConfig};
use proofmill_shared::protocol::Role;
use proofmill_shared::telemetry::ClusterClock;

use self::fakes::{CIRCUIT, FakeWorker, Manner};
use super::job_supervisor::testing::{Books, DescribeBooks};
use super::{Coordinator, CoordinatorOptions};
use crate::handle::CoordinatorHandle;
use crate::view::{JobRequest, JobState, JobView, Priority};

/// Longest wait for anything.
const LIMIT: Duration = Duration::from_secs(30);

/// A broker and a clock, and the coordinators and workers that a test adds.
struct Cluster {
    broker: BrokerHandle,
    clock: ClusterClock,
}

impl Cluster {
    async fn new() -> Self {
        let broker: BrokerHandle = MemoryBroker::start(MemoryConfig::default());
        let clock = ClusterClock::measure(&*broker).await.unwrap();
        Self { broker, clock }
    }

    /// Takes the lead from a coordinator, as a lapse of its time would.
    async fn depose(&self, handle: &CoordinatorHandle) {
        let site = handle.site();
        let holder = site.options.holder.as_str();
        let released = self.broker.release_leadership(holder, site.leader());
        released.await.unwrap();
    }

    /// Loses every event that waits.
    async fn lose_events(&self) {
        let mut thief = self
            .broker
            .open_events("thief", Duration::ZERO)
            .await
            .unwrap();
        loop {
            let stolen = thief.read(64, Duration::from_millis(20)).await.unwrap();
            if stolen.is_empty() {
                return;
            }
            let ids: Vec<String> = stolen.into_iter().map(|delivery| delivery.id).collect();
            thief.ack(&ids).await.unwrap();
        }
    }

    fn options(&self) -> CoordinatorOptions {
        CoordinatorOptions::new(Arc::clone(&self.broker), self.clock.clone(), 1_024)
    }

    async fn coordinator(&self) -> CoordinatorHandle {
        self.coordinator_with(self.options()).await
    }

    async fn coordinator_with(&self, options: CoordinatorOptions) -> CoordinatorHandle {
        let handle = Coordinator::start(options);
        wait_until("the coordinator leads", async || handle.is_ready()).await;
        handle
    }

    async fn worker(&self, name: &str, role: Role, manner: Manner) -> FakeWorker {
        FakeWorker::join(&self.broker, &self.clock, name, role, manner).await
    }

    async fn synth(&self, name: &str) -> FakeWorker {
        self.worker(name, Role::Synth, Manner::Diligent).await
    }

    async fn gpu(&self, name: &str, manner: Manner) -> FakeWorker {
        self.worker(name, Role::Gpu, manner).await
    }
}

/// A job of some partitions.
fn request(input: &str) -> JobRequest {
    JobRequest {
        circuit: CIRCUIT.parse().unwrap(),
        input: Bytes::copy_from_slice(input.as_bytes()),
        priority: Priority::Normal,
        deadline: None,
        expect: None,
        idempotency_key: None,
        traceparent: None,
        retry_of: None,
    }
}

async fn run(handle: &CoordinatorHandle, request: JobRequest) -> JobView {
    let submitted = handle.submit(request).await.unwrap();
    let view = handle.wait(submitted.view.id, LIMIT).await.unwrap();
    assert!(view.state.is_terminal(), "the job does not end: {view:?}");
    view
}

async fn assert_books_are_clear(handle: &CoordinatorHandle) {
    let supervisor = handle.supervisor();
    let is_clear = async || supervisor.send(DescribeBooks).await.unwrap() == Books::default();
    wait_until("every credit, unit and byte is given back", is_clear).await;
}

async fn wait_until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + LIMIT;
    while !condition().await {
        assert!(tokio::time::Instant::now() < deadline, "waited for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn assert_succeeded(view: &JobView) {
    assert_eq!(view.state, JobState::Succeeded, "{view:?}");
}
