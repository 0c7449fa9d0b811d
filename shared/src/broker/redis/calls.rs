//! The broker's calls, each told by the file that makes it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::RedisBroker;
use super::check::{check, usage};
use super::heartbeat::RedisHeartbeat;
use super::line::Line;
use super::payload_reader::RedisPayloadReader;
use super::reader::{OWNER, RedisStreamReader};
use super::sealing::compare_keys;
use crate::broker::{
    Broker, BrokerError, CommitOutcome, HeartbeatLine, IdempotencyOutcome, JobCommit, LeaderToken,
    PayloadEntry, PayloadKey, PayloadReader, PayloadUsage, ResultWrite, ServerReport, StoredJob,
    StreamReader, TokenCheck, UnitMarks,
};
use crate::protocol::{CircuitId, Digest, JobId, TaskKey, Unit, UnixMicros, WorkerId};

impl RedisBroker {
    async fn reader(
        &self,
        stream: String,
        consumer: &str,
        min_idle: Option<Duration>,
    ) -> Result<Box<dyn StreamReader>, BrokerError> {
        let line = Line::beside(&self.control);
        let make_group = self.scripts.make_group.clone();
        let reader = RedisStreamReader::open(line, make_group, stream, consumer, min_idle).await?;
        Ok(Box::new(reader))
    }
}

#[async_trait]
impl Broker for RedisBroker {
    fn describe(&self) -> String {
        let (control, payload) = (self.control.endpoint(), self.payload.endpoint());
        if Arc::ptr_eq(control, payload) {
            return control.server.clone();
        }
        format!("{} (payload at {})", control.server, payload.server)
    }

    async fn check(&self) -> Result<ServerReport, BrokerError> {
        let control = check(&self.control).await?;
        self.bulk
            .set_value_bytes_max(self.control.value_bytes_max());
        if !Arc::ptr_eq(&self.bulk, &self.payload) {
            check(&self.payload).await?;
        }
        compare_keys(&self.control, &self.keys, self.sealing.as_deref()).await?;
        Ok(ServerReport {
            server: control.version.to_string(),
            limit_bytes: Some(control.limit_bytes),
            is_loopback: self.control.endpoint().is_loopback && self.payload.endpoint().is_loopback,
            is_sealed: self.sealing.is_some(),
        })
    }

    async fn now(&self) -> Result<UnixMicros, BrokerError> {
        self.time().await
    }

    async fn cluster_epoch(&self) -> Result<UnixMicros, BrokerError> {
        self.epoch().await
    }

    async fn acquire_leadership(
        &self,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<LeaderToken>, BrokerError> {
        self.take_lead(holder, ttl).await
    }

    async fn renew_leadership(
        &self,
        holder: &str,
        token: LeaderToken,
        ttl: Duration,
    ) -> Result<bool, BrokerError> {
        self.renew_lead(holder, token, ttl).await
    }

    async fn release_leadership(
        &self,
        holder: &str,
        token: LeaderToken,
    ) -> Result<(), BrokerError> {
        self.renew_lead(holder, token, Duration::ZERO).await?;
        Ok(())
    }

    async fn put_input(&self, job: JobId, input: Bytes, ttl: Duration) -> Result<(), BrokerError> {
        self.write_input(job, &input, ttl).await
    }

    async fn get_input(&self, job: JobId) -> Result<Option<Bytes>, BrokerError> {
        self.read_input(job).await
    }

    async fn reserve_idempotency(
        &self,
        key: &str,
        job: JobId,
        request: &str,
        ttl: Duration,
    ) -> Result<IdempotencyOutcome, BrokerError> {
        self.bind_idempotency(key, job, request, ttl).await
    }

    async fn create_job(
        &self,
        job: JobId,
        leader: LeaderToken,
        record: Bytes,
    ) -> Result<CommitOutcome, BrokerError> {
        self.write_new_job(job, leader, &record).await
    }

    async fn commit(&self, commit: JobCommit) -> Result<CommitOutcome, BrokerError> {
        self.write_job(&commit).await
    }

    async fn load_job(&self, job: JobId) -> Result<Option<StoredJob>, BrokerError> {
        self.read_job(job).await
    }

    async fn active_jobs(&self) -> Result<Vec<JobId>, BrokerError> {
        self.list_active().await
    }

    async fn recent_jobs(
        &self,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<JobId>, BrokerError> {
        self.list_recent(before, limit).await
    }

    async fn start(&self, key: &TaskKey) -> Result<TokenCheck, BrokerError> {
        self.write_start(key).await
    }

    async fn mark_shipped(
        &self,
        key: &TaskKey,
        manifest: Digest,
    ) -> Result<TokenCheck, BrokerError> {
        self.write_shipped(key, manifest).await
    }

    async fn store_result(&self, key: &TaskKey, result: Bytes) -> Result<ResultWrite, BrokerError> {
        self.write_result(key, &result).await
    }

    async fn load_result(&self, job: JobId, unit: Unit) -> Result<Option<Bytes>, BrokerError> {
        self.read_result(job, unit).await
    }

    async fn load_marks(&self, job: JobId, unit: Unit) -> Result<UnitMarks, BrokerError> {
        self.read_marks(job, unit).await
    }

    async fn post_task(&self, worker: &WorkerId, message: Bytes) -> Result<(), BrokerError> {
        self.post(&self.keys.inbox(worker), &message).await
    }

    async fn post_control(&self, worker: &WorkerId, message: Bytes) -> Result<(), BrokerError> {
        self.post(&self.keys.control(worker), &message).await
    }

    async fn emit_event(&self, message: Bytes) -> Result<(), BrokerError> {
        self.post(&self.keys.events(), &message).await
    }

    async fn open_inbox(&self, worker: &WorkerId) -> Result<Box<dyn StreamReader>, BrokerError> {
        self.reader(self.keys.inbox(worker), OWNER, None).await
    }

    async fn open_control(&self, worker: &WorkerId) -> Result<Box<dyn StreamReader>, BrokerError> {
        self.reader(self.keys.control(worker), OWNER, None).await
    }

    async fn open_events(
        &self,
        consumer: &str,
        min_idle: Duration,
    ) -> Result<Box<dyn StreamReader>, BrokerError> {
        self.reader(self.keys.events(), consumer, Some(min_idle))
            .await
    }

    async fn drop_inbox(&self, worker: &WorkerId) -> Result<(), BrokerError> {
        self.remove_inbox(worker).await
    }

    async fn append_payload(
        &self,
        key: &PayloadKey,
        entry: PayloadEntry,
        ttl: Duration,
    ) -> Result<(), BrokerError> {
        self.write_payload(key, &entry, ttl).await
    }

    async fn open_payload(&self, key: &PayloadKey) -> Result<Box<dyn PayloadReader>, BrokerError> {
        let line = Line::beside(&self.payload);
        let stream = self.keys.assignment(key);
        let reader = RedisPayloadReader::open(line, stream, *key, self.sealing.clone());
        Ok(Box::new(reader))
    }

    async fn drop_payload(&self, key: &PayloadKey) -> Result<(), BrokerError> {
        self.remove_payload(key).await
    }

    async fn payload_usage(&self) -> Result<PayloadUsage, BrokerError> {
        usage(&self.payload).await
    }

    fn max_entry_bytes(&self) -> usize {
        self.entry_bytes_max()
    }

    async fn open_heartbeat(
        &self,
        worker: &WorkerId,
    ) -> Result<Box<dyn HeartbeatLine>, BrokerError> {
        let heartbeat = RedisHeartbeat::new(
            Arc::clone(self.control.endpoint()),
            Arc::clone(&self.scripts),
            &self.keys,
            worker,
        );
        Ok(Box::new(heartbeat))
    }

    async fn workers(&self) -> Result<Vec<Bytes>, BrokerError> {
        self.list_workers().await
    }

    async fn put_circuit(&self, circuit: &CircuitId, record: Bytes) -> Result<(), BrokerError> {
        self.write_circuit(circuit, &record).await
    }

    async fn circuits(&self) -> Result<Vec<Bytes>, BrokerError> {
        self.list_circuits().await
    }

    async fn append_timeline(&self, job: JobId, records: Vec<Bytes>) -> Result<(), BrokerError> {
        self.write_timeline(job, &records).await
    }

    async fn load_timeline(&self, job: JobId) -> Result<Vec<Bytes>, BrokerError> {
        self.read_timeline(job).await
    }

    async fn put_dead_letter(&self, job: JobId, letter: Bytes) -> Result<(), BrokerError> {
        self.write_dead_letter(job, &letter).await
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<(JobId, Bytes)>, BrokerError> {
        self.list_dead_letters(limit).await
    }

    async fn drop_dead_letter(&self, job: JobId) -> Result<bool, BrokerError> {
        self.remove_dead_letter(job).await
    }
}
