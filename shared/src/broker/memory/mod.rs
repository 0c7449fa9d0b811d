//! The in-memory broker: serialises, redelivers and expires like the real one.
//!
//! *Layout*: `state` (what is stored, with expiry), `jobs` (records and token-checked writes), `streams` (deliveries and
//! payload), `heartbeat`. Everything is behind one lock that is never held across an await.

mod heartbeat;
mod jobs;
mod state;
mod streams;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use self::heartbeat::MemoryHeartbeat;
use self::state::State;
use self::streams::{MemoryPayloadReader, MemoryStreamReader, StreamName};
use super::{
    Broker, BrokerError, CommitOutcome, HeartbeatLine, IdempotencyOutcome, JobCommit, LeaderToken,
    PayloadEntry, PayloadKey, PayloadReader, PayloadUsage, ResultWrite, ServerReport, StoredJob,
    StreamReader, TokenCheck, UnitMarks,
};
use crate::protocol::{CircuitId, JobId, TaskKey, Unit, UnixMicros, WorkerId};

/// Limits of the in-memory broker.
#[derive(Debug, Clone, Copy)]
pub struct MemoryConfig {
    /// Bytes of payload and inputs held at a time; more is answered as out of memory. Default 2 GiB: an embedded
    /// cluster keeps few assignments in flight.
    pub payload_limit_bytes: u64,
    /// Largest payload entry in bytes. Default 4 MiB, as over Redis.
    pub max_entry_bytes: usize,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            payload_limit_bytes: 2 << 30,
            max_entry_bytes: 4 << 20,
        }
    }
}

/// Broker within one process.
pub struct MemoryBroker {
    shared: Arc<Shared>,
    config: MemoryConfig,
}

struct Shared {
    state: Mutex<State>,
    /// Woken whenever a stream or payload grows.
    grown: Notify,
}

impl Shared {
    /// Waits until `look` finds something, at most `block`; each look happens under the lock.
    async fn wait_for<T>(
        &self,
        block: Duration,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let deadline = tokio::time::Instant::now() + block;
        loop {
            // Created before the look, so that growth between the look and the wait is not missed.
            let grown = self.grown.notified();
            if let Some(found) = look(&mut self.state.lock()) {
                return Some(found);
            }
            if tokio::time::timeout_at(deadline, grown).await.is_err() {
                return None;
            }
        }
    }
}

impl MemoryBroker {
    /// Starts an empty broker.
    #[must_use]
    pub fn start(config: MemoryConfig) -> Arc<Self> {
        let shared = Shared {
            state: Mutex::new(State::default()),
            grown: Notify::new(),
        };
        Arc::new(Self {
            shared: Arc::new(shared),
            config,
        })
    }

    fn append(&self, name: StreamName, message: Bytes) {
        self.shared.state.lock().append(name, message);
        self.shared.grown.notify_waiters();
    }

    fn reader(&self, name: StreamName, min_idle: Option<Duration>) -> Box<dyn StreamReader> {
        Box::new(MemoryStreamReader::open(
            Arc::clone(&self.shared),
            name,
            min_idle,
        ))
    }

    fn make_room(&self, state: &mut State, bytes: usize) -> Result<(), BrokerError> {
        state.expire();
        let used = state.payload_bytes();
        if used.saturating_add(bytes as u64) > self.config.payload_limit_bytes {
            return Err(BrokerError::OutOfMemory);
        }
        Ok(())
    }
}

impl fmt::Debug for MemoryBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBroker")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The wall clock: within one process it is the cluster's clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the in-memory broker is the source of cluster time"
)]
fn wall_clock() -> UnixMicros {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    UnixMicros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

#[async_trait]
impl Broker for MemoryBroker {
    fn describe(&self) -> String {
        "in memory".to_owned()
    }

    async fn check(&self) -> Result<ServerReport, BrokerError> {
        let limit_bytes = Some(self.config.payload_limit_bytes);
        Ok(ServerReport {
            server: self.describe(),
            limit_bytes,
            is_loopback: true,
        })
    }

    async fn now(&self) -> Result<UnixMicros, BrokerError> {
        Ok(wall_clock())
    }

    async fn cluster_epoch(&self) -> Result<UnixMicros, BrokerError> {
        Ok(*self
            .shared
            .state
            .lock()
            .epoch
            .get_or_insert_with(wall_clock))
    }

    async fn acquire_leadership(
        &self,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<LeaderToken>, BrokerError> {
        Ok(self.shared.state.lock().acquire_leadership(holder, ttl))
    }

    async fn renew_leadership(
        &self,
        holder: &str,
        token: LeaderToken,
        ttl: Duration,
    ) -> Result<bool, BrokerError> {
        Ok(self
            .shared
            .state
            .lock()
            .renew_leadership(holder, token, ttl))
    }

    async fn release_leadership(
        &self,
        holder: &str,
        token: LeaderToken,
    ) -> Result<(), BrokerError> {
        self.shared
            .state
            .lock()
            .renew_leadership(holder, token, Duration::ZERO);
        Ok(())
    }

    async fn put_input(&self, job: JobId, input: Bytes, ttl: Duration) -> Result<(), BrokerError> {
        let mut state = self.shared.state.lock();
        self.make_room(&mut state, input.len())?;
        state.put_input(job, Bytes::copy_from_slice(&input), ttl);
        Ok(())
    }

    async fn get_input(&self, job: JobId) -> Result<Option<Bytes>, BrokerError> {
        Ok(self.shared.state.lock().input(job))
    }

    async fn reserve_idempotency(
        &self,
        key: &str,
        job: JobId,
        request: &str,
        ttl: Duration,
    ) -> Result<IdempotencyOutcome, BrokerError> {
        Ok(self
            .shared
            .state
            .lock()
            .reserve_idempotency(key, job, request, ttl))
    }

    async fn create_job(
        &self,
        job: JobId,
        leader: LeaderToken,
        record: Bytes,
    ) -> Result<CommitOutcome, BrokerError> {
        Ok(self.shared.state.lock().create_job(job, leader, record))
    }

    async fn commit(&self, commit: JobCommit) -> Result<CommitOutcome, BrokerError> {
        Ok(self.shared.state.lock().commit(commit))
    }

    async fn load_job(&self, job: JobId) -> Result<Option<StoredJob>, BrokerError> {
        Ok(self.shared.state.lock().load_job(job))
    }

    async fn active_jobs(&self) -> Result<Vec<JobId>, BrokerError> {
        Ok(self.shared.state.lock().active_jobs())
    }

    async fn recent_jobs(
        &self,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<JobId>, BrokerError> {
        Ok(self.shared.state.lock().recent_jobs(before, limit))
    }

    async fn start(&self, key: &TaskKey) -> Result<TokenCheck, BrokerError> {
        Ok(self.shared.state.lock().start(key))
    }

    async fn mark_shipped(
        &self,
        key: &TaskKey,
        manifest: Bytes,
    ) -> Result<TokenCheck, BrokerError> {
        Ok(self.shared.state.lock().mark_shipped(key, manifest))
    }

    async fn store_result(&self, key: &TaskKey, result: Bytes) -> Result<ResultWrite, BrokerError> {
        Ok(self.shared.state.lock().store_result(key, result))
    }

    async fn load_result(&self, job: JobId, unit: Unit) -> Result<Option<Bytes>, BrokerError> {
        Ok(self.shared.state.lock().result(job, unit))
    }

    async fn load_marks(&self, job: JobId, unit: Unit) -> Result<UnitMarks, BrokerError> {
        Ok(self.shared.state.lock().marks(job, unit))
    }

    async fn post_task(&self, worker: &WorkerId, message: Bytes) -> Result<(), BrokerError> {
        self.append(StreamName::Inbox(worker.clone()), message);
        Ok(())
    }

    async fn post_control(&self, worker: &WorkerId, message: Bytes) -> Result<(), BrokerError> {
        self.append(StreamName::Control(worker.clone()), message);
        Ok(())
    }

    async fn emit_event(&self, message: Bytes) -> Result<(), BrokerError> {
        self.append(StreamName::Events, message);
        Ok(())
    }

    async fn open_inbox(&self, worker: &WorkerId) -> Result<Box<dyn StreamReader>, BrokerError> {
        Ok(self.reader(StreamName::Inbox(worker.clone()), None))
    }

    async fn open_control(&self, worker: &WorkerId) -> Result<Box<dyn StreamReader>, BrokerError> {
        Ok(self.reader(StreamName::Control(worker.clone()), None))
    }

    async fn open_events(
        &self,
        _consumer: &str,
        min_idle: Duration,
    ) -> Result<Box<dyn StreamReader>, BrokerError> {
        Ok(self.reader(StreamName::Events, Some(min_idle)))
    }

    async fn drop_inbox(&self, worker: &WorkerId) -> Result<(), BrokerError> {
        let mut state = self.shared.state.lock();
        state.drop_stream(&StreamName::Inbox(worker.clone()));
        state.drop_stream(&StreamName::Control(worker.clone()));
        Ok(())
    }

    async fn append_payload(
        &self,
        key: &PayloadKey,
        entry: PayloadEntry,
        ttl: Duration,
    ) -> Result<(), BrokerError> {
        let (PayloadEntry::Chunk { bytes, .. } | PayloadEntry::Manifest(bytes)) = &entry;
        let limit = self.config.max_entry_bytes;
        if bytes.len() > limit {
            return Err(BrokerError::EntryTooLarge {
                bytes: bytes.len(),
                limit,
            });
        }
        {
            let mut state = self.shared.state.lock();
            self.make_room(&mut state, bytes.len())?;
            state.append_payload(*key, entry, ttl);
        }
        self.shared.grown.notify_waiters();
        Ok(())
    }

    async fn open_payload(&self, key: &PayloadKey) -> Result<Box<dyn PayloadReader>, BrokerError> {
        Ok(Box::new(MemoryPayloadReader::open(
            Arc::clone(&self.shared),
            *key,
        )))
    }

    async fn drop_payload(&self, key: &PayloadKey) -> Result<(), BrokerError> {
        self.shared.state.lock().drop_payload(key);
        Ok(())
    }

    async fn payload_usage(&self) -> Result<PayloadUsage, BrokerError> {
        let mut state = self.shared.state.lock();
        state.expire();
        Ok(PayloadUsage {
            used_bytes: state.payload_bytes(),
            limit_bytes: Some(self.config.payload_limit_bytes),
        })
    }

    fn max_entry_bytes(&self) -> usize {
        self.config.max_entry_bytes
    }

    async fn open_heartbeat(
        &self,
        worker: &WorkerId,
    ) -> Result<Box<dyn HeartbeatLine>, BrokerError> {
        Ok(Box::new(MemoryHeartbeat::new(
            Arc::clone(&self.shared),
            worker.clone(),
        )))
    }

    async fn workers(&self) -> Result<Vec<Bytes>, BrokerError> {
        Ok(self.shared.state.lock().workers())
    }

    async fn put_circuit(&self, circuit: &CircuitId, record: Bytes) -> Result<(), BrokerError> {
        self.shared
            .state
            .lock()
            .circuits
            .insert(circuit.clone(), record);
        Ok(())
    }

    async fn circuits(&self) -> Result<Vec<Bytes>, BrokerError> {
        Ok(self
            .shared
            .state
            .lock()
            .circuits
            .values()
            .cloned()
            .collect())
    }

    async fn append_timeline(&self, job: JobId, records: Vec<Bytes>) -> Result<(), BrokerError> {
        self.shared.state.lock().append_timeline(job, records);
        Ok(())
    }

    async fn load_timeline(&self, job: JobId) -> Result<Vec<Bytes>, BrokerError> {
        Ok(self.shared.state.lock().timeline(job))
    }

    async fn put_dead_letter(&self, job: JobId, letter: Bytes) -> Result<(), BrokerError> {
        self.shared.state.lock().dead_letters.insert(job, letter);
        Ok(())
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<(JobId, Bytes)>, BrokerError> {
        let state = self.shared.state.lock();
        let newest = state.dead_letters.iter().rev().take(limit);
        Ok(newest.map(|(job, letter)| (*job, letter.clone())).collect())
    }

    async fn drop_dead_letter(&self, job: JobId) -> Result<bool, BrokerError> {
        Ok(self.shared.state.lock().dead_letters.remove(&job).is_some())
    }
}
