//! Workers that prove nothing: they take tasks, make the durable writes, and report, or misbehave as told.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use proofmill_shared::broker::{BrokerHandle, TokenCheck};
use proofmill_shared::membership::{Assigned, MemberOptions, Membership};
use proofmill_shared::protocol::{
    CircuitRecord, Digest, FailureKind, Incarnation, PROTOCOL_VERSION, PartitionProof, Plan, Role,
    Task, TaskFailure, TaskKey, WorkerEvent, WorkerId, WorkerRecord,
};
use proofmill_shared::telemetry::{ClusterClock, TimelineEvent, TimelineRecord};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

/// Heartbeats of these workers, fast so that losses are seen fast.
const BEAT_EVERY: Duration = Duration::from_millis(100);
const BEAT_TTL: Duration = Duration::from_millis(600);

/// The circuit they know.
pub(super) const CIRCUIT: &str = "chain";

/// How a worker behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Does everything right.
    Diligent,
    /// Starts, and waits until it is let go or cancelled.
    Dawdling,
    /// Does everything right, and reports nothing.
    Silent,
    /// Fails every task.
    Failing,
}

/// What a test knows of a worker.
#[derive(Debug, Default)]
pub(super) struct Diary {
    pub(super) started: Vec<TaskKey>,
    pub(super) cancelled: Vec<TaskKey>,
}

/// A worker that runs.
#[derive(Debug)]
pub(super) struct FakeWorker {
    membership: Membership,
    task: JoinHandle<()>,
    pub(super) diary: Arc<Mutex<Diary>>,
    pub(super) go_on: Arc<Notify>,
}

impl FakeWorker {
    pub(super) async fn join(
        broker: &BrokerHandle,
        clock: &ClusterClock,
        name: &str,
        role: Role,
        manner: Manner,
    ) -> Self {
        let record = WorkerRecord {
            id: WorkerId::new(name).unwrap(),
            incarnation: Incarnation::generate(),
            role,
            protocol: PROTOCOL_VERSION,
            version: "0".into(),
            host: "host".into(),
            started_at: clock.now(),
            slots: 1,
            prefetch: 1,
            circuits: vec![CIRCUIT.parse().unwrap()],
            warm: Vec::new(),
            device: None,
            held: Vec::new(),
            is_draining: false,
            needs_evaluations: false,
            clock_offset_micros: 0,
            clock_uncertainty_micros: 0,
        };
        if role == Role::Synth {
            register_circuit(broker).await;
        }
        let mut options = MemberOptions::new(Arc::clone(broker), clock.clone(), record);
        options.heartbeat_interval = BEAT_EVERY;
        options.heartbeat_ttl = BEAT_TTL;
        let (membership, tasks) = Membership::join(options).await.unwrap();
        let (diary, go_on) = (Arc::default(), Arc::new(Notify::new()));
        let hands = Hands {
            broker: Arc::clone(broker),
            membership: membership.clone(),
            manner,
            diary: Arc::clone(&diary),
            go_on: Arc::clone(&go_on),
        };
        Self {
            membership,
            task: tokio::spawn(hands.work(tasks)),
            diary,
            go_on,
        }
    }

    /// Ends it as SIGKILL would: nothing is said, the heartbeat lapses.
    pub(super) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.is_err());
        drop(self.membership);
    }
}

async fn register_circuit(broker: &BrokerHandle) {
    let record = CircuitRecord {
        id: CIRCUIT.parse().unwrap(),
        statement: "a chain".into(),
        input: "a number of partitions".into(),
        shape: shape(),
        num_constraints: 8,
        num_inputs: 2,
        num_aux: 8,
    };
    let bytes = Bytes::from(serde_json::to_vec(&record).unwrap());
    broker.put_circuit(&record.id, bytes).await.unwrap();
}

fn shape() -> Digest {
    Digest::of(b"shape")
}

/// What proves a partition in these tests.
pub(super) fn public_input(partition: u32) -> Digest {
    Digest::of(&partition.to_be_bytes())
}

struct Hands {
    broker: BrokerHandle,
    membership: Membership,
    manner: Manner,
    diary: Arc<Mutex<Diary>>,
    go_on: Arc<Notify>,
}

impl Hands {
    async fn work(self, mut tasks: mpsc::Receiver<Assigned>) {
        while let Some(assigned) = tasks.recv().await {
            self.run(assigned).await;
        }
    }

    async fn emit(&self, key: TaskKey, event: WorkerEvent, instant: Option<TimelineEvent>) {
        if self.manner == Manner::Silent {
            return;
        }
        let emitter = self.membership.emitter();
        let record = |event| TimelineRecord::of_task(event, emitter.now(), &key, emitter.worker());
        let timeline = instant.map(record).into_iter().collect();
        emitter.emit(key, event, timeline).await;
    }

    async fn run(&self, assigned: Assigned) {
        let Assigned { task, ticket, .. } = assigned;
        let key = *task.key();
        if self.broker.start(&key).await.unwrap() != TokenCheck::Accepted {
            ticket.settle();
            return;
        }
        ticket.mark_started();
        self.diary.lock().started.push(key);
        let instant = match task {
            Task::Prove(_) => TimelineEvent::GpuPickup,
            Task::Plan(_) | Task::Synthesize(_) | Task::Finish(_) => TimelineEvent::SynthStart,
        };
        self.emit(key, WorkerEvent::Started, Some(instant)).await;
        if self.manner == Manner::Dawdling {
            let flag = ticket.cancel_flag();
            let is_raised = async {
                while !flag.is_raised() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::select! {
                () = is_raised => {
                    self.diary.lock().cancelled.push(key);
                    ticket.settle();
                    return;
                }
                () = self.go_on.notified() => {}
            }
        }
        if self.manner == Manner::Failing {
            let failure = TaskFailure::new(FailureKind::Attempt, "device-error", "device failed");
            self.emit(key, WorkerEvent::Failed(failure), None).await;
        } else {
            self.succeed(&task, key).await;
        }
        ticket.settle();
    }

    async fn succeed(&self, task: &Task, key: TaskKey) {
        let result = match task {
            Task::Plan(_) => match self.plan(key).await {
                Ok(plan) => serde_json::to_vec(&plan),
                Err(failure) => {
                    self.emit(key, WorkerEvent::Failed(failure), None).await;
                    return;
                }
            },
            Task::Synthesize(_) => {
                let sending = WorkerEvent::Sending { shape: shape() };
                self.emit(key, sending, Some(TimelineEvent::ChanSend)).await;
                let manifest = Digest::of(b"manifest");
                self.broker.mark_shipped(&key, manifest).await.unwrap();
                let shipped = WorkerEvent::Shipped {
                    manifest,
                    bytes: 100,
                    raw_bytes: 320,
                };
                self.emit(key, shipped, Some(TimelineEvent::ChanSent)).await;
                return;
            }
            Task::Prove(task) => serde_json::to_vec(&PartitionProof {
                proof: vec![7; 192],
                public_inputs: vec![public_input(task.partition)],
                verifying_key: Digest::of(b"key"),
                device: "none".into(),
            }),
            Task::Finish(task) => serde_json::to_vec(&task.partition_count),
        };
        let result = Bytes::from(result.unwrap());
        self.broker.store_result(&key, result).await.unwrap();
        let instant = match task {
            Task::Prove(_) => TimelineEvent::ProofVerified,
            Task::Plan(_) | Task::Synthesize(_) | Task::Finish(_) => TimelineEvent::SynthEnd,
        };
        self.emit(key, WorkerEvent::Stored, Some(instant)).await;
    }

    async fn plan(&self, key: TaskKey) -> Result<Plan, TaskFailure> {
        let input = self.broker.get_input(key.job).await.unwrap().unwrap();
        let count: Option<u32> = std::str::from_utf8(&input)
            .ok()
            .and_then(|text| text.parse().ok());
        let wrong = || TaskFailure::new(FailureKind::Rejected, "bad-input", "expected a number");
        Ok(Plan {
            partition_count: count.ok_or_else(wrong)?,
            shape: shape(),
            summary: "a number".into(),
        })
    }
}
