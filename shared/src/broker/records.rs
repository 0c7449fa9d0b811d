//! What a broker stores about jobs, as bytes with versions and tokens.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;

use crate::protocol::{FencingToken, JobId, Unit};

/// Token of a coordinator's lead: grows with every grant; a commit under an older one than the job has seen is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct LeaderToken(pub u64);

/// One atomic write of the coordinator to one job.
#[derive(Debug, Clone)]
pub struct JobCommit {
    /// The job.
    pub job: JobId,
    /// The version the coordinator read or wrote last.
    pub expected_version: u64,
    /// The coordinator's lead.
    pub leader: LeaderToken,
    /// The job's record.
    pub record: Bytes,
    /// Units that changed.
    pub units: Vec<UnitWrite>,
    /// Where the job stands after this write.
    pub index: JobIndex,
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobIndex {
    /// Not in a terminal state.
    Active,
    /// Ended: the record, results and timeline expire after `retain`.
    Ended {
        /// Named retention of ended jobs.
        retain: Duration,
        /// True deletes the input now; false keeps it with the record (for a dead letter that may be retried).
        drop_input: bool,
    },
}

/// A unit's new record and, where an attempt was granted or taken back, its new tokens.
#[derive(Debug, Clone)]
pub struct UnitWrite {
    /// The unit.
    pub unit: Unit,
    /// The coordinator's record of it.
    pub record: Bytes,
    /// The only synthesis token accepted from here on; 0 accepts none.
    pub synth_token: FencingToken,
    /// The only proving token accepted from here on; 0 accepts none.
    pub prove_token: FencingToken,
}

/// What became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    /// Written; the job has this version now.
    Committed {
        /// The new version.
        version: u64,
    },
    /// Somebody wrote in between: read the job again.
    Conflict {
        /// The version found.
        version: u64,
    },
    /// A younger coordinator leads: stop.
    Deposed {
        /// The token found.
        leader: LeaderToken,
    },
    /// The job is not there (any more).
    Missing,
}

/// What became of an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdempotencyOutcome {
    /// Bound to the job now.
    Reserved,
    /// Bound to this job and this request digest already.
    Taken {
        /// The job it is bound to.
        job: JobId,
        /// The digest of the request it was bound with.
        request: String,
    },
}

/// A job as stored.
#[derive(Debug, Clone)]
pub struct StoredJob {
    /// Version for the next commit.
    pub version: u64,
    /// The coordinator's record.
    pub record: Bytes,
    /// The coordinator's records of the units, with the marks workers left.
    pub units: BTreeMap<Unit, (Bytes, UnitMarks)>,
}

/// What workers wrote on a unit, and the tokens that stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnitMarks {
    /// Current synthesis token; 0 for none.
    pub synth_token: FencingToken,
    /// Current proving token; 0 for none.
    pub prove_token: FencingToken,
    /// Token of the last synthesis attempt that started; 0 for none.
    pub synth_started: FencingToken,
    /// Token of the last proving attempt that started; 0 for none.
    pub prove_started: FencingToken,
    /// Token of the synthesis attempt whose payload was shipped last; 0 for none.
    pub shipped: FencingToken,
    /// True once the unit has its result.
    pub has_result: bool,
}

/// Answer to a token-checked write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenCheck {
    /// The token is current; the write is done (or was done before).
    Accepted,
    /// The token is not current: the writer is a straggler and stops.
    Stale {
        /// The token that stands.
        current: FencingToken,
    },
}

/// Answer to a result write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultWrite {
    /// Stored now.
    Stored,
    /// The unit has a result already; it stays.
    AlreadyStored,
    /// The token is not current: the writer is a straggler and stops.
    Stale {
        /// The token that stands.
        current: FencingToken,
    },
}

/// Names one attempt's assignment stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PayloadKey {
    /// The job.
    pub job: JobId,
    /// Index of the partition.
    pub partition: u32,
    /// The synthesis attempt.
    pub attempt: u32,
}

/// What the server that holds payload has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadUsage {
    /// Bytes in use, as the server counts them.
    pub used_bytes: u64,
    /// The server's limit; `None` if it has none (in memory).
    pub limit_bytes: Option<u64>,
}

/// What [`super::Broker::check`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerReport {
    /// Such as `redis 7.0.15` or `in memory`.
    pub server: String,
    /// Memory limit in bytes; `None` if it has none (in memory).
    pub limit_bytes: Option<u64>,
    /// True if the server is reached over loopback or within the process.
    pub is_loopback: bool,
    /// True if inputs and payload are sealed under a cluster key.
    pub is_sealed: bool,
}

impl ServerReport {
    /// True if whoever listens on the network reads inputs and witnesses.
    #[must_use]
    pub const fn is_exposed(&self) -> bool {
        !self.is_loopback && !self.is_sealed
    }
}
