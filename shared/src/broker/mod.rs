//! What stands between the processes: job records, inboxes, events, payloads, heartbeats.
//!
//! *Layout*: `error` (causes), `records` (what is stored), `streams` (reading), `keys` (every Redis key name, in one
//! table), `limits` and `fingerprint` (what both backends keep to), `seal` (encryption under the cluster key), `redis/` and `memory/` (the backends), `conformance`
//! (one suite that both pass), `server` (a throwaway `redis-server` for tests).
//!
//! A [`Broker`] holds bytes: it knows keys, versions and tokens, and nothing of circuits or of the job state machine.
//!
//! **Invariant**: workers make three token-checked writes, each one atomic step on the keys of one job:
//! [`Broker::start`], [`Broker::mark_shipped`], [`Broker::store_result`]. Everything else about a job is written by
//! the coordinator through [`Broker::commit`], compare-and-set on version and leader token.
//! **Invariant**: events, inboxes and indexes are hints, derived from job records.

#[cfg(test)]
mod conformance;
mod error;
mod fingerprint;
pub mod keys;
mod limits;
mod memory;
mod records;
mod redis;
mod seal;
#[cfg(any(test, feature = "server"))]
pub mod server;
mod streams;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

pub use self::error::{BrokerError, Retryability};
pub(crate) use self::limits::PAYLOAD_ENTRIES_PER_READ;
pub use self::memory::{MemoryBroker, MemoryConfig};
pub use self::records::{
    CommitOutcome, IdempotencyOutcome, JobCommit, JobIndex, LeaderToken, PayloadKey, PayloadUsage,
    ResultWrite, ServerReport, StoredJob, TokenCheck, UnitMarks, UnitWrite,
};
pub use self::redis::{RedisBroker, RedisConfig};
pub use self::seal::{ClusterKey, SealError};
pub use self::streams::{Delivery, HeartbeatLine, PayloadEntry, PayloadReader, StreamReader};
use crate::protocol::{CircuitId, Digest, JobId, TaskKey, Unit, UnixMicros, WorkerId};

/// Shared handle of a broker.
pub type BrokerHandle = Arc<dyn Broker>;

/// The one interface between Proofmill's processes. All calls may be made from any thread with a Tokio runtime.
///
/// # Errors
/// Every call fails with a [`BrokerError`]; [`BrokerError::retryability`] says whether trying again may help. A call
/// that timed out may have been applied: every write here is idempotent, so that its repetition is harmless.
#[async_trait]
pub trait Broker: Send + Sync + fmt::Debug + 'static {
    /// Where this broker is, for logs: never holds a password.
    fn describe(&self) -> String;

    /// Checks that the server can be used (version, eviction policy, memory limit), and says what it found.
    async fn check(&self) -> Result<ServerReport, BrokerError>;

    /// The cluster's clock.
    async fn now(&self) -> Result<UnixMicros, BrokerError>;

    /// The instant from which timelines count, set once by whoever asks first.
    async fn cluster_epoch(&self) -> Result<UnixMicros, BrokerError>;

    // === Leadership of the coordinator ===

    /// Takes the lead if nobody holds it; `None` if somebody does. Tokens grow with every grant.
    async fn acquire_leadership(
        &self,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<LeaderToken>, BrokerError>;

    /// Renews the lead; false if it was lost.
    async fn renew_leadership(
        &self,
        holder: &str,
        token: LeaderToken,
        ttl: Duration,
    ) -> Result<bool, BrokerError>;

    /// Gives the lead up, if it is still held under this token.
    async fn release_leadership(&self, holder: &str, token: LeaderToken)
    -> Result<(), BrokerError>;

    // === Inputs ===

    /// Stores a job's input in pieces under the server's limits; it expires by itself unless the job is created.
    async fn put_input(&self, job: JobId, input: Bytes, ttl: Duration) -> Result<(), BrokerError>;

    /// Reads a job's input, `None` if there is none (any more).
    async fn get_input(&self, job: JobId) -> Result<Option<Bytes>, BrokerError>;

    // === Job records ===

    /// Binds an idempotency key to a job and the digest of its request, or says what it is bound to already.
    async fn reserve_idempotency(
        &self,
        key: &str,
        job: JobId,
        request: &str,
        ttl: Duration,
    ) -> Result<IdempotencyOutcome, BrokerError>;

    /// Writes a job for the first time (version 1) and makes its input permanent. Answers [`CommitOutcome::Conflict`]
    /// with the stored version if the job exists.
    async fn create_job(
        &self,
        job: JobId,
        leader: LeaderToken,
        record: Bytes,
    ) -> Result<CommitOutcome, BrokerError>;

    /// Writes a job, its units and their tokens in one step, if nobody wrote since `expected_version` and no younger
    /// leader has touched it.
    async fn commit(&self, commit: JobCommit) -> Result<CommitOutcome, BrokerError>;

    /// Reads a job with its units.
    async fn load_job(&self, job: JobId) -> Result<Option<StoredJob>, BrokerError>;

    /// Jobs that are not in a terminal state, oldest first.
    async fn active_jobs(&self) -> Result<Vec<JobId>, BrokerError>;

    /// Newest jobs first, active and ended, at most `limit`, older than `before` if given.
    async fn recent_jobs(
        &self,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<JobId>, BrokerError>;

    // === Token-checked writes of workers ===

    /// Marks an attempt as started, if its token is the unit's current one for that stage. Repeating it is harmless.
    async fn start(&self, key: &TaskKey) -> Result<TokenCheck, BrokerError>;

    /// Marks a partition's payload as shipped, under the synthesis token; `manifest` is the digest of its manifest entry.
    async fn mark_shipped(
        &self,
        key: &TaskKey,
        manifest: Digest,
    ) -> Result<TokenCheck, BrokerError>;

    /// Stores the result of a unit (plan, proof, output), once: the first accepted write stays.
    async fn store_result(&self, key: &TaskKey, result: Bytes) -> Result<ResultWrite, BrokerError>;

    /// Reads the result of a unit.
    async fn load_result(&self, job: JobId, unit: Unit) -> Result<Option<Bytes>, BrokerError>;

    /// Reads the marks that workers left on a unit.
    async fn load_marks(&self, job: JobId, unit: Unit) -> Result<UnitMarks, BrokerError>;

    // === Streams ===

    /// Posts a message to a worker's inbox.
    async fn post_task(&self, worker: &WorkerId, message: Bytes) -> Result<(), BrokerError>;

    /// Posts a message to a worker's control stream.
    async fn post_control(&self, worker: &WorkerId, message: Bytes) -> Result<(), BrokerError>;

    /// Publishes an event to the coordinator.
    async fn emit_event(&self, message: Bytes) -> Result<(), BrokerError>;

    /// Opens a worker's inbox on a connection of its own. Unacknowledged deliveries come first.
    async fn open_inbox(&self, worker: &WorkerId) -> Result<Box<dyn StreamReader>, BrokerError>;

    /// Opens a worker's control stream on a connection of its own.
    async fn open_control(&self, worker: &WorkerId) -> Result<Box<dyn StreamReader>, BrokerError>;

    /// Opens the events stream for a coordinator on a connection of its own. Deliveries that another consumer left
    /// unacknowledged for `min_idle` are taken over.
    async fn open_events(
        &self,
        consumer: &str,
        min_idle: Duration,
    ) -> Result<Box<dyn StreamReader>, BrokerError>;

    /// Removes the inbox and control stream of a worker that is gone.
    async fn drop_inbox(&self, worker: &WorkerId) -> Result<(), BrokerError>;

    // === Payload ===

    /// Appends one entry to an attempt's assignment stream; the stream expires `ttl` after its last entry.
    async fn append_payload(
        &self,
        key: &PayloadKey,
        entry: PayloadEntry,
        ttl: Duration,
    ) -> Result<(), BrokerError>;

    /// Opens an attempt's assignment stream from its start, on a connection of its own.
    async fn open_payload(&self, key: &PayloadKey) -> Result<Box<dyn PayloadReader>, BrokerError>;

    /// Removes an attempt's assignment stream.
    async fn drop_payload(&self, key: &PayloadKey) -> Result<(), BrokerError>;

    /// Bytes in use and the limit of the server that holds payload.
    async fn payload_usage(&self) -> Result<PayloadUsage, BrokerError>;

    /// Largest payload entry this server accepts, in bytes.
    fn max_entry_bytes(&self) -> usize;

    // === Workers and circuits ===

    /// Opens a heartbeat line: a blocking connection for a thread of its own.
    async fn open_heartbeat(
        &self,
        worker: &WorkerId,
    ) -> Result<Box<dyn HeartbeatLine>, BrokerError>;

    /// Records of the workers whose heartbeat has not expired.
    async fn workers(&self) -> Result<Vec<Bytes>, BrokerError>;

    /// Registers a circuit; the last writer wins.
    async fn put_circuit(&self, circuit: &CircuitId, record: Bytes) -> Result<(), BrokerError>;

    /// Records of the registered circuits.
    async fn circuits(&self) -> Result<Vec<Bytes>, BrokerError>;

    // === Timelines and dead letters ===

    /// Appends records to a job's timeline.
    async fn append_timeline(&self, job: JobId, records: Vec<Bytes>) -> Result<(), BrokerError>;

    /// Reads a job's timeline in the order it was written.
    async fn load_timeline(&self, job: JobId) -> Result<Vec<Bytes>, BrokerError>;

    /// Files a dead letter under its job.
    async fn put_dead_letter(&self, job: JobId, letter: Bytes) -> Result<(), BrokerError>;

    /// The dead letters, newest first, at most `limit`.
    async fn dead_letters(&self, limit: usize) -> Result<Vec<(JobId, Bytes)>, BrokerError>;

    /// Removes a dead letter; false if there was none.
    async fn drop_dead_letter(&self, job: JobId) -> Result<bool, BrokerError>;
}
