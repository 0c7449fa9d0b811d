//! The coordinator's side of one worker: jobs with tokens, tasks into its inbox, events out of it.

use std::time::Duration;

use bytes::Bytes;
use proofmill_shared::broker::{
    BrokerHandle, CommitOutcome, JobCommit, JobIndex, LeaderToken, MemoryBroker, MemoryConfig,
    StreamReader, UnitWrite,
};
use proofmill_shared::groth16::Store;
use proofmill_shared::protocol::{
    CircuitId, Control, Envelope, EventMessage, FencingToken, FinishTask, JobId, PlanTask, Stage,
    SynthTask, Task, TaskFailure, TaskKey, TraceContext, Unit, UnixMicros, WorkerEvent, WorkerId,
    WorkerRecord,
};
use proofmill_shared::telemetry::{ClusterClock, SpanId, SpanRecord, SpanSink};
use proofmill_synth_worker::circuit::CircuitRegistry;
use proofmill_synth_worker::worker::{SynthWorker, SynthWorkerOptions};
use tokio::sync::mpsc;

/// Longest wait for an event: a loaded machine synthesizes slowly.
const EVENT_LIMIT: Duration = Duration::from_secs(30);

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(20);

/// How long silence must last to count as silence.
const SILENCE: Duration = Duration::from_millis(300);

pub(crate) struct Bench {
    pub(crate) broker: BrokerHandle,
    pub(crate) worker: SynthWorker,
    pub(crate) spans: mpsc::Receiver<SpanRecord>,
    events: Box<dyn StreamReader>,
    leader: LeaderToken,
    home: tempfile::TempDir,
}

/// A job with its input in the broker.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) circuit: CircuitId,
    pub(crate) trace: TraceContext,
}

impl Bench {
    pub(crate) async fn start(registry: CircuitRegistry) -> Self {
        let broker: BrokerHandle = MemoryBroker::start(MemoryConfig::default());
        let ttl = Duration::from_secs(600);
        let leader = broker.acquire_leadership("bench", ttl).await.unwrap();
        let events = broker.open_events("bench", ttl).await.unwrap();
        let clock = ClusterClock::measure(&*broker).await.unwrap();
        let (sink, spans) = SpanSink::channel(1_024);
        let home = tempfile::tempdir().unwrap();
        let id = WorkerId::new("synth-1").unwrap();
        let options = SynthWorkerOptions {
            spans: sink,
            ..SynthWorkerOptions::new(id, broker.clone(), clock, Store::new(home.path()), registry)
        };
        let worker = SynthWorker::start(options).await.unwrap();
        Self {
            broker,
            worker,
            spans,
            events,
            leader: leader.unwrap(),
            home,
        }
    }

    pub(crate) fn store(&self) -> Store {
        Store::new(self.home.path())
    }

    pub(crate) async fn submit(&self, circuit: &str, input: &[u8]) -> Job {
        let id = JobId::generate();
        let (input, ttl) = (Bytes::copy_from_slice(input), Duration::from_secs(600));
        self.broker.put_input(id, input, ttl).await.unwrap();
        let created = self.broker.create_job(id, self.leader, Bytes::new());
        assert!(matches!(
            created.await.unwrap(),
            CommitOutcome::Committed { .. }
        ));
        Job {
            id,
            circuit: circuit.parse().unwrap(),
            trace: TraceContext::of_job(id, SpanId::random(), SpanId::random()),
        }
    }

    /// Makes `token` the only one that is accepted, for both stages of a unit.
    pub(crate) async fn grant(&self, job: &Job, unit: Unit, token: u64) {
        let stored = self.broker.load_job(job.id).await.unwrap().unwrap();
        let write = UnitWrite {
            unit,
            record: Bytes::new(),
            synth_token: FencingToken(token),
            prove_token: FencingToken(token),
        };
        let commit = JobCommit {
            job: job.id,
            expected_version: stored.version,
            leader: self.leader,
            record: Bytes::new(),
            units: vec![write],
            index: JobIndex::Active,
        };
        let outcome = self.broker.commit(commit).await.unwrap();
        assert!(matches!(outcome, CommitOutcome::Committed { .. }));
    }

    /// Posts a task under a token, whatever token stands.
    pub(crate) async fn post(&self, job: &Job, unit: Unit, token: u64) -> TaskKey {
        let key = key(job, unit, Stage::Synthesis, token);
        let circuit = job.circuit.clone();
        let task = match unit {
            Unit::Plan => Task::Plan(PlanTask { key, circuit }),
            Unit::Partition(partition) => Task::Synthesize(SynthTask {
                key,
                circuit,
                partition,
                needs_evaluations: false,
            }),
            Unit::Finish => Task::Finish(FinishTask {
                key,
                circuit,
                partition_count: 2,
            }),
        };
        self.post_body(Envelope::new(task, job.trace.clone(), UnixMicros(0)).encode())
            .await;
        key
    }

    async fn post_body<E: std::fmt::Debug>(&self, body: Result<Bytes, E>) {
        let worker = WorkerId::new("synth-1").unwrap();
        let body = body.unwrap();
        self.broker.post_task(&worker, body).await.unwrap();
    }

    /// Grants a token and posts the task under it.
    pub(crate) async fn assign(&self, job: &Job, unit: Unit, token: u64) -> TaskKey {
        self.grant(job, unit, token).await;
        self.post(job, unit, token).await
    }

    pub(crate) async fn order(&self, order: Control) {
        let worker = WorkerId::new("synth-1").unwrap();
        let body = Envelope::new(order, TraceContext::default(), UnixMicros(0)).encode();
        let posted = self.broker.post_control(&worker, body.unwrap());
        posted.await.unwrap();
    }

    /// The next event, if one comes within the limit.
    async fn next(&mut self, limit: Duration) -> Option<EventMessage> {
        let deliveries = self.events.read(1, limit).await.unwrap();
        let delivery = deliveries.into_iter().next()?;
        self.events.ack(&[delivery.id]).await.unwrap();
        let message = Envelope::<EventMessage>::decode(&delivery.body).unwrap();
        Some(message.body)
    }

    /// Events of an attempt up to one that ends it; they come in any order, the ending one last.
    pub(crate) async fn events_of(&mut self, key: TaskKey) -> Vec<EventMessage> {
        let mut seen = Vec::new();
        let is_end = |event: &WorkerEvent| {
            !matches!(event, WorkerEvent::Started | WorkerEvent::Sending { .. })
        };
        loop {
            let event = self.next(EVENT_LIMIT).await.expect("an event in time");
            assert_eq!(event.key, key, "{event:?}");
            let is_last = is_end(&event.event);
            seen.push(event);
            if is_last {
                return seen;
            }
        }
    }

    pub(crate) async fn ended(&mut self, key: TaskKey) -> WorkerEvent {
        let events = self.events_of(key).await;
        events.last().expect("one at least").event.clone()
    }

    pub(crate) async fn failed(&mut self, key: TaskKey) -> TaskFailure {
        match self.ended(key).await {
            WorkerEvent::Failed(failure) => failure,
            event => panic!("expected a failure: {event:?}"),
        }
    }

    /// The next event of any attempt.
    pub(crate) async fn any_event(&mut self) -> EventMessage {
        self.next(EVENT_LIMIT).await.expect("an event in time")
    }

    /// Waits until the worker's heartbeat shows this many tasks.
    pub(crate) async fn wait_for_held(&self, count: usize) {
        let wait = async {
            loop {
                let records = self.broker.workers().await.unwrap();
                let held = records.iter().map(|record| {
                    let record: WorkerRecord = serde_json::from_slice(record).unwrap();
                    record.held.len()
                });
                if held.sum::<usize>() == count {
                    return;
                }
                tokio::time::sleep(POLL).await;
            }
        };
        let waited = tokio::time::timeout(EVENT_LIMIT, wait).await;
        assert!(waited.is_ok(), "{count} tasks held in time");
    }

    /// Lets everything that is ready run, and checks that it emits nothing.
    pub(crate) async fn expect_silence(&mut self) {
        let event = self.next(SILENCE).await;
        assert!(event.is_none(), "{event:?}");
    }
}

pub(crate) fn key(job: &Job, unit: Unit, stage: Stage, token: u64) -> TaskKey {
    TaskKey {
        job: job.id,
        unit,
        stage,
        attempt: u32::try_from(token).unwrap(),
        token: FencingToken(token),
    }
}
