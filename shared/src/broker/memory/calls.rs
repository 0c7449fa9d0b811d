//! The broker's calls: each takes the lock, does its step, and wakes whoever waits for it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::heartbeat::MemoryHeartbeat;
use super::streams::{MemoryPayloadReader, OWNER, StreamName};
use super::{MemoryBroker, wall_clock};
use crate::broker::{
    Broker, BrokerError, CommitOutcome, HeartbeatLine, IdempotencyOutcome, JobCommit, LeaderToken,
    PayloadEntry, PayloadKey, PayloadReader, PayloadUsage, ResultWrite, ServerReport, StoredJob,
    StreamReader, TokenCheck, UnitMarks,
};
use crate::protocol::{CircuitId, Digest, JobId, TaskKey, Unit, UnixMicros, WorkerId};

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
            is_sealed: false,
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
        _manifest: Digest,
    ) -> Result<TokenCheck, BrokerError> {
        Ok(self.shared.state.lock().mark_shipped(key))
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
        Ok(self.reader(StreamName::Inbox(worker.clone()), OWNER, None))
    }

    async fn open_control(&self, worker: &WorkerId) -> Result<Box<dyn StreamReader>, BrokerError> {
        Ok(self.reader(StreamName::Control(worker.clone()), OWNER, None))
    }

    async fn open_events(
        &self,
        consumer: &str,
        min_idle: Duration,
    ) -> Result<Box<dyn StreamReader>, BrokerError> {
        Ok(self.reader(StreamName::Events, consumer, Some(min_idle)))
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
        self.shared.state.lock().put_dead_letter(job, letter);
        Ok(())
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<(JobId, Bytes)>, BrokerError> {
        let state = self.shared.state.lock();
        let newest = state.dead_letters.iter().rev().take(limit);
        Ok(newest.cloned().collect())
    }

    async fn drop_dead_letter(&self, job: JobId) -> Result<bool, BrokerError> {
        Ok(self.shared.state.lock().drop_dead_letter(job))
    }
}
