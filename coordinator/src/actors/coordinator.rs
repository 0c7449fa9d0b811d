//! Starts the actors, and stops them.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Addr, Arbiter};
use proofmill_shared::broker::BrokerHandle;
use proofmill_shared::telemetry::{ClusterClock, SpanSink};

use super::ending::CoordinatorEnd;
use super::event_reader::{Acks, EventReader, StopReading};
use super::job_supervisor::{JobSupervisor, Meet, Settle};
use super::leader_keeper::{GiveUpLead, LeaderKeeper};
use super::site::Site;
use super::worker_registry::WorkerRegistry;
use crate::handle::CoordinatorHandle;

/// Assignments that may wait for each device, by default: one being fetched, one behind it.
pub const LOOKAHEAD_DEFAULT: usize = 2;

/// Jobs that may wait or run at a time, by default.
pub const QUEUE_LIMIT_DEFAULT: usize = 100_000;

/// How long ended jobs, their proofs and timelines are kept, by default.
pub const RETENTION_DEFAULT: Duration = Duration::from_secs(24 * 60 * 60);

/// Time after which a started attempt without progress is taken for lost, by default: workers end themselves sooner,
/// this is for those that cannot.
pub const STALL_LIMIT_DEFAULT: Duration = Duration::from_secs(15 * 60);

/// How a coordinator runs.
#[derive(Debug, Clone)]
pub struct CoordinatorOptions {
    /// The broker.
    pub broker: BrokerHandle,
    /// The cluster's clock.
    pub clock: ClusterClock,
    /// Where finished spans go.
    pub spans: SpanSink,
    /// Name of this process, unique among coordinators: holds the lead and reads events.
    pub holder: String,
    /// Largest input, in bytes.
    pub input_bytes_max: usize,
    /// Jobs that may wait or run at a time.
    pub queue_limit: usize,
    /// How long ended jobs are kept.
    pub retention: Duration,
    /// Assignments that may wait for each device.
    pub lookahead: usize,
    /// Bytes of payload that may be in the broker; `None` for no limit.
    pub payload_budget_bytes: Option<u64>,
    /// Time after which a started attempt without progress is taken for lost.
    pub stall_limit: Duration,
}

impl CoordinatorOptions {
    /// Options with the defaults.
    #[must_use]
    pub fn new(broker: BrokerHandle, clock: ClusterClock, input_bytes_max: usize) -> Self {
        Self {
            broker,
            clock,
            spans: SpanSink::disabled(),
            holder: format!("coordinator-{}", uuid::Uuid::now_v7().simple()),
            input_bytes_max,
            queue_limit: QUEUE_LIMIT_DEFAULT,
            retention: RETENTION_DEFAULT,
            lookahead: LOOKAHEAD_DEFAULT,
            payload_budget_bytes: None,
            stall_limit: STALL_LIMIT_DEFAULT,
        }
    }
}

/// The coordinator as a whole.
#[derive(Debug)]
pub struct Coordinator;

impl Coordinator {
    /// Starts the actors on a thread of their own. Must be called inside a running actix system.
    ///
    /// Answers at once; [`CoordinatorHandle::is_ready`] says when the coordinator leads and takes jobs, and
    /// [`CoordinatorHandle::ended`] when and why it ended.
    #[must_use]
    pub fn start(options: CoordinatorOptions) -> CoordinatorHandle {
        let site = Arc::new(Site::new(options));
        let arbiter = Arbiter::new();
        let thread = arbiter.handle();
        let (acks, acked) = Acks::line();
        let supervisor = {
            let site = Arc::clone(&site);
            JobSupervisor::start_in_arbiter(&thread, move |_| JobSupervisor::new(site, acks))
        };
        let registry = {
            let (site, supervisor) = (Arc::clone(&site), supervisor.clone());
            WorkerRegistry::start_in_arbiter(&thread, move |_| {
                WorkerRegistry::new(site, supervisor)
            })
        };
        let reader = {
            let (site, supervisor) = (Arc::clone(&site), supervisor.clone());
            EventReader::start_in_arbiter(&thread, move |_| {
                EventReader::new(site, acked, supervisor)
            })
        };
        supervisor.do_send(Meet {
            reader: reader.clone(),
            registry,
        });
        let keeper = {
            let (site, supervisor) = (Arc::clone(&site), supervisor.clone());
            LeaderKeeper::start_in_arbiter(&thread, move |_| LeaderKeeper::new(site, supervisor))
        };
        CoordinatorHandle::of(Running {
            site,
            supervisor,
            reader,
            keeper,
            arbiter,
        })
    }
}

/// A started coordinator's parts.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) site: Arc<Site>,
    pub(crate) supervisor: Addr<JobSupervisor>,
    reader: Addr<EventReader>,
    keeper: Addr<LeaderKeeper>,
    arbiter: Arbiter,
}

impl Running {
    /// Stops in order: no new work, no further events, steps under way to their end, lead given up.
    pub(crate) async fn stop(&self) {
        self.site.set_ready(false);
        let stopped = [
            self.reader.send(StopReading).await,
            self.supervisor.send(Settle).await,
        ];
        self.site.finish(CoordinatorEnd::Stopped);
        let given_up = self.keeper.send(GiveUpLead).await;
        if stopped.iter().chain([&given_up]).any(Result::is_err) {
            tracing::debug!("a part of the coordinator had ended already");
        }
        if !self.arbiter.stop() {
            tracing::debug!("thread of the coordinator had ended already");
        }
    }
}
