//! What the in-memory broker stores, with expiry.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::streams::{Payload, Stream, StreamName};
use crate::broker::limits::DEAD_LETTERS_MAX;
use crate::broker::{IdempotencyOutcome, LeaderToken, PayloadKey, UnitMarks};
use crate::protocol::{CircuitId, Digest, JobId, Unit, UnixMicros, WorkerId};

/// Least time between two looks for expired entries: what expires is there this much longer at most.
const SWEEP_INTERVAL: Duration = Duration::from_millis(20);

/// Something that is there until an instant, or for good.
#[derive(Debug)]
pub(super) struct Expiring<T> {
    pub(super) value: T,
    pub(super) until: Option<Instant>,
}

impl<T> Expiring<T> {
    pub(super) fn for_good(value: T) -> Self {
        Self { value, until: None }
    }

    pub(super) fn lasting(value: T, ttl: Duration) -> Self {
        Self {
            value,
            // What no clock can tell lasts for good.
            until: Instant::now().checked_add(ttl),
        }
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// A job with everything that lives and ends with it.
#[derive(Debug, Default)]
pub(super) struct JobEntry {
    pub(super) version: u64,
    pub(super) leader: LeaderToken,
    /// Of the last write, so that its repetition is recognised.
    pub(super) fingerprint: Option<Digest>,
    pub(super) record: Bytes,
    pub(super) units: BTreeMap<Unit, UnitEntry>,
    pub(super) timeline: Vec<Bytes>,
    pub(super) is_active: bool,
}

/// A unit: the coordinator's record, and what workers wrote.
#[derive(Debug, Default)]
pub(super) struct UnitEntry {
    pub(super) record: Bytes,
    pub(super) marks: UnitMarks,
    pub(super) result: Option<Bytes>,
}

/// Everything, behind one lock.
#[derive(Debug, Default)]
pub(super) struct State {
    swept: Option<Instant>,
    pub(super) epoch: Option<UnixMicros>,
    pub(super) leader: Option<Expiring<String>>,
    pub(super) leader_token: LeaderToken,
    pub(super) inputs: HashMap<JobId, Expiring<Bytes>>,
    pub(super) idempotency: HashMap<String, Expiring<(JobId, String)>>,
    pub(super) jobs: BTreeMap<JobId, Expiring<JobEntry>>,
    pub(super) streams: HashMap<StreamName, Stream>,
    pub(super) payloads: HashMap<PayloadKey, Expiring<Payload>>,
    pub(super) workers: BTreeMap<WorkerId, Expiring<Bytes>>,
    pub(super) circuits: BTreeMap<CircuitId, Bytes>,
    /// In the order of filing.
    pub(super) dead_letters: VecDeque<(JobId, Bytes)>,
}

impl State {
    /// Forgets what has expired, looking through everything at most once per [`SWEEP_INTERVAL`].
    pub(super) fn expire(&mut self) {
        let now = Instant::now();
        if self
            .swept
            .is_some_and(|swept| now.duration_since(swept) < SWEEP_INTERVAL)
        {
            return;
        }
        self.swept = Some(now);
        self.inputs.retain(|_, entry| !entry.is_over(now));
        self.idempotency.retain(|_, entry| !entry.is_over(now));
        self.jobs.retain(|_, entry| !entry.is_over(now));
        self.payloads.retain(|_, entry| !entry.is_over(now));
        self.workers.retain(|_, entry| !entry.is_over(now));
    }

    /// Bytes of payload and inputs.
    pub(super) fn payload_bytes(&self) -> u64 {
        let payloads: u64 = self
            .payloads
            .values()
            .map(|payload| payload.value.bytes())
            .sum();
        payloads
            + self
                .inputs
                .values()
                .map(|input| input.value.len() as u64)
                .sum::<u64>()
    }

    pub(super) fn acquire_leadership(
        &mut self,
        holder: &str,
        ttl: Duration,
    ) -> Option<LeaderToken> {
        if self
            .leader
            .as_ref()
            .is_some_and(|leader| !leader.is_over(Instant::now()))
        {
            return None;
        }
        self.leader_token.0 += 1;
        self.leader = Some(Expiring::lasting(holder.to_owned(), ttl));
        Some(self.leader_token)
    }

    pub(super) fn renew_leadership(
        &mut self,
        holder: &str,
        token: LeaderToken,
        ttl: Duration,
    ) -> bool {
        let now = Instant::now();
        let holds = self
            .leader
            .as_ref()
            .is_some_and(|leader| leader.value == holder && !leader.is_over(now));
        if holds && token == self.leader_token {
            self.leader = Some(Expiring::lasting(holder.to_owned(), ttl));
            return true;
        }
        false
    }

    pub(super) fn put_input(&mut self, job: JobId, input: Bytes, ttl: Duration) {
        self.inputs.insert(job, Expiring::lasting(input, ttl));
    }

    pub(super) fn input(&mut self, job: JobId) -> Option<Bytes> {
        self.expire();
        self.inputs.get(&job).map(|input| input.value.clone())
    }

    pub(super) fn reserve_idempotency(
        &mut self,
        key: &str,
        job: JobId,
        request: &str,
        ttl: Duration,
    ) -> IdempotencyOutcome {
        self.expire();
        if let Some(found) = self.idempotency.get(key) {
            let (bound, bound_request) = &found.value;
            if (*bound, bound_request.as_str()) == (job, request) {
                return IdempotencyOutcome::Reserved;
            }
            return IdempotencyOutcome::Taken {
                job: *bound,
                request: bound_request.clone(),
            };
        }
        self.idempotency.insert(
            key.to_owned(),
            Expiring::lasting((job, request.to_owned()), ttl),
        );
        IdempotencyOutcome::Reserved
    }

    pub(super) fn workers(&mut self) -> Vec<Bytes> {
        self.expire();
        self.workers
            .values()
            .map(|worker| worker.value.clone())
            .collect()
    }

    pub(super) fn put_dead_letter(&mut self, job: JobId, letter: Bytes) {
        self.drop_dead_letter(job);
        self.dead_letters.push_back((job, letter));
        if self.dead_letters.len() > DEAD_LETTERS_MAX {
            self.dead_letters.pop_front();
        }
    }

    pub(super) fn drop_dead_letter(&mut self, job: JobId) -> bool {
        let before = self.dead_letters.len();
        self.dead_letters.retain(|(filed, _)| *filed != job);
        self.dead_letters.len() < before
    }
}
