//! A broker for these tests: the token and version rules of the real ones, in one lock.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use proofmill_shared::broker::{
    Broker, BrokerError, CommitOutcome, Delivery, HeartbeatLine, IdempotencyOutcome, JobCommit,
    JobIndex, LeaderToken, PayloadEntry, PayloadKey, PayloadReader, PayloadUsage, ResultWrite,
    ServerReport, StoredJob, StreamReader, TokenCheck, UnitMarks,
};
use proofmill_shared::protocol::{
    CircuitId, FencingToken, JobId, Stage, TaskKey, Unit, UnixMicros, WorkerId,
};
use proofmill_shared::telemetry::ClusterClock;
use tokio::sync::Notify;

#[derive(Debug, Default)]
struct StoredUnit {
    record: Bytes,
    marks: UnitMarks,
    result: Option<Bytes>,
}

#[derive(Debug, Default)]
struct Row {
    version: u64,
    leader: u64,
    record: Bytes,
    is_active: bool,
    units: BTreeMap<Unit, StoredUnit>,
}

#[derive(Debug, Default)]
struct Stream {
    next: u64,
    fresh: VecDeque<Delivery>,
    pending: BTreeMap<String, Delivery>,
}

#[derive(Debug, Default)]
struct Tables {
    lead: Option<(String, u64, Instant)>,
    grants: u64,
    inputs: HashMap<JobId, Bytes>,
    keys: HashMap<String, (JobId, String)>,
    jobs: BTreeMap<JobId, Row>,
    streams: HashMap<String, Stream>,
    workers: BTreeMap<WorkerId, (Bytes, Instant)>,
    circuits: BTreeMap<String, Bytes>,
    timelines: HashMap<JobId, Vec<Bytes>>,
    letters: BTreeMap<JobId, Bytes>,
}

#[derive(Debug)]
struct Inner {
    tables: Mutex<Tables>,
    came: Notify,
    clock: ClusterClock,
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct BenchBroker(Arc<Inner>);

impl BenchBroker {
    pub(super) fn new(clock: ClusterClock) -> Self {
        Self(Arc::new(Inner {
            tables: Mutex::default(),
            came: Notify::new(),
            clock,
        }))
    }

    fn append(&self, stream: String, body: Bytes) {
        let mut tables = self.0.tables.lock();
        let stream = tables.streams.entry(stream).or_default();
        stream.next += 1;
        stream.fresh.push_back(Delivery {
            id: format!("{:020}", stream.next),
            delivery_count: 1,
            body,
        });
        drop(tables);
        self.0.came.notify_waiters();
    }

    fn open(&self, name: String) -> Box<dyn StreamReader> {
        let mut tables = self.0.tables.lock();
        let stream = tables.streams.entry(name.clone()).or_default();
        // What was read and not acknowledged comes first to the next reader.
        let pending: Vec<Delivery> = stream.pending.values().cloned().collect();
        stream.pending.clear();
        for delivery in pending.into_iter().rev() {
            stream.fresh.push_front(delivery);
        }
        drop(tables);
        Box::new(Reader {
            broker: self.clone(),
            name,
        })
    }

    /// Takes the lead from whoever has it, as a lapse of its time would.
    pub(super) fn depose(&self) {
        self.0.tables.lock().lead = None;
    }

    /// Loses every event that waits, as a broker restarted from an older state would.
    pub(super) fn lose_events(&self) {
        self.0.tables.lock().streams.remove("events");
    }
}

#[derive(Debug)]
struct Reader {
    broker: BenchBroker,
    name: String,
}

#[async_trait]
impl StreamReader for Reader {
    async fn read(&mut self, max: usize, block: Duration) -> Result<Vec<Delivery>, BrokerError> {
        let until = tokio::time::Instant::now() + block;
        loop {
            let came = self.broker.0.came.notified();
            tokio::pin!(came);
            came.as_mut().enable();
            {
                let mut tables = self.broker.0.tables.lock();
                let stream = tables.streams.entry(self.name.clone()).or_default();
                let take = max.min(stream.fresh.len());
                let taken: Vec<Delivery> = stream.fresh.drain(..take).collect();
                for delivery in &taken {
                    stream.pending.insert(delivery.id.clone(), delivery.clone());
                }
                if !taken.is_empty() {
                    return Ok(taken);
                }
            }
            if tokio::time::timeout_at(until, came).await.is_err() {
                return Ok(Vec::new());
            }
        }
    }

    async fn ack(&mut self, ids: &[String]) -> Result<(), BrokerError> {
        let mut tables = self.broker.0.tables.lock();
        if let Some(stream) = tables.streams.get_mut(&self.name) {
            for id in ids {
                stream.pending.remove(id);
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Line {
    broker: BenchBroker,
    worker: WorkerId,
}

impl HeartbeatLine for Line {
    fn beat(&mut self, record: &[u8], ttl: Duration) -> Result<(), BrokerError> {
        let beat = (Bytes::copy_from_slice(record), Instant::now() + ttl);
        let mut tables = self.broker.0.tables.lock();
        tables.workers.insert(self.worker.clone(), beat);
        Ok(())
    }

    fn leave(&mut self) -> Result<(), BrokerError> {
        self.broker.0.tables.lock().workers.remove(&self.worker);
        Ok(())
    }
}

#[derive(Debug)]
struct NoPayload;

#[async_trait]
impl PayloadReader for NoPayload {
    async fn read(&mut self, _: Duration) -> Result<Vec<PayloadEntry>, BrokerError> {
        Ok(Vec::new())
    }
}

fn current(unit: Option<&StoredUnit>, stage: Stage) -> FencingToken {
    let marks = unit.map(|unit| unit.marks).unwrap_or_default();
    match stage {
        Stage::Synthesis => marks.synth_token,
        Stage::Proving => marks.prove_token,
    }
}

impl Tables {
    fn unit(&mut self, key: &TaskKey) -> Result<&mut StoredUnit, FencingToken> {
        let row = self.jobs.get_mut(&key.job).ok_or(FencingToken(0))?;
        let unit = row.units.get_mut(&key.unit);
        let token = current(unit.as_deref(), key.stage);
        match unit {
            Some(unit) if token == key.token && token.0 != 0 => Ok(unit),
            Some(_) | None => Err(token),
        }
    }
}

#[async_trait]
impl Broker for BenchBroker {
    fn describe(&self) -> String {
        "memory".into()
    }
    async fn check(&self) -> Result<ServerReport, BrokerError> {
        Ok(ServerReport {
            server: "in memory".into(),
            limit_bytes: None,
            is_loopback: true,
        })
    }
    async fn now(&self) -> Result<UnixMicros, BrokerError> {
        Ok(self.0.clock.now())
    }
    async fn cluster_epoch(&self) -> Result<UnixMicros, BrokerError> {
        Ok(UnixMicros(1))
    }
    async fn acquire_leadership(
        &self,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<LeaderToken>, BrokerError> {
        let mut tables = self.0.tables.lock();
        let is_held = tables
            .lead
            .as_ref()
            .is_some_and(|(_, _, until)| *until > Instant::now());
        if is_held {
            return Ok(None);
        }
        tables.grants += 1;
        let token = tables.grants;
        tables.lead = Some((holder.to_owned(), token, Instant::now() + ttl));
        Ok(Some(LeaderToken(token)))
    }
    async fn renew_leadership(
        &self,
        holder: &str,
        token: LeaderToken,
        ttl: Duration,
    ) -> Result<bool, BrokerError> {
        let mut tables = self.0.tables.lock();
        Ok(match &mut tables.lead {
            Some((by, held, until)) if by == holder && *held == token.0 => {
                *until = Instant::now() + ttl;
                true
            }
            Some(_) | None => false,
        })
    }
    async fn release_leadership(
        &self,
        holder: &str,
        token: LeaderToken,
    ) -> Result<(), BrokerError> {
        let mut tables = self.0.tables.lock();
        let is_ours =
            matches!(&tables.lead, Some((by, held, _)) if by == holder && *held == token.0);
        if is_ours {
            tables.lead = None;
        }
        Ok(())
    }
    async fn put_input(&self, job: JobId, input: Bytes, _: Duration) -> Result<(), BrokerError> {
        self.0.tables.lock().inputs.insert(job, input);
        Ok(())
    }
    async fn get_input(&self, job: JobId) -> Result<Option<Bytes>, BrokerError> {
        Ok(self.0.tables.lock().inputs.get(&job).cloned())
    }
    async fn reserve_idempotency(
        &self,
        key: &str,
        job: JobId,
        request: &str,
        _: Duration,
    ) -> Result<IdempotencyOutcome, BrokerError> {
        let mut tables = self.0.tables.lock();
        if let Some((job, request)) = tables.keys.get(key) {
            return Ok(IdempotencyOutcome::Taken {
                job: *job,
                request: request.clone(),
            });
        }
        tables
            .keys
            .insert(key.to_owned(), (job, request.to_owned()));
        Ok(IdempotencyOutcome::Reserved)
    }
    async fn create_job(
        &self,
        job: JobId,
        leader: LeaderToken,
        record: Bytes,
    ) -> Result<CommitOutcome, BrokerError> {
        let mut tables = self.0.tables.lock();
        if let Some(row) = tables.jobs.get(&job) {
            let version = row.version;
            return Ok(CommitOutcome::Conflict { version });
        }
        let row = Row {
            version: 1,
            leader: leader.0,
            record,
            is_active: true,
            units: BTreeMap::new(),
        };
        tables.jobs.insert(job, row);
        Ok(CommitOutcome::Committed { version: 1 })
    }
    async fn commit(&self, commit: JobCommit) -> Result<CommitOutcome, BrokerError> {
        let mut tables = self.0.tables.lock();
        let Some(row) = tables.jobs.get_mut(&commit.job) else {
            return Ok(CommitOutcome::Missing);
        };
        if row.leader > commit.leader.0 {
            let leader = LeaderToken(row.leader);
            return Ok(CommitOutcome::Deposed { leader });
        }
        if row.version != commit.expected_version {
            let version = row.version;
            return Ok(CommitOutcome::Conflict { version });
        }
        row.version += 1;
        row.leader = commit.leader.0;
        row.record = commit.record;
        row.is_active = commit.index == JobIndex::Active;
        for write in commit.units {
            let unit = row.units.entry(write.unit).or_default();
            unit.record = write.record;
            unit.marks.synth_token = write.synth_token;
            unit.marks.prove_token = write.prove_token;
        }
        let version = row.version;
        if let JobIndex::Ended {
            drop_input: true, ..
        } = commit.index
        {
            tables.inputs.remove(&commit.job);
        }
        Ok(CommitOutcome::Committed { version })
    }
    async fn load_job(&self, job: JobId) -> Result<Option<StoredJob>, BrokerError> {
        let tables = self.0.tables.lock();
        Ok(tables.jobs.get(&job).map(|row| StoredJob {
            version: row.version,
            record: row.record.clone(),
            units: row
                .units
                .iter()
                .map(|(unit, stored)| (*unit, (stored.record.clone(), stored.marks)))
                .collect(),
        }))
    }
    async fn active_jobs(&self) -> Result<Vec<JobId>, BrokerError> {
        let tables = self.0.tables.lock();
        let active = tables.jobs.iter().filter(|(_, row)| row.is_active);
        Ok(active.map(|(id, _)| *id).collect())
    }
    async fn recent_jobs(
        &self,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<JobId>, BrokerError> {
        let tables = self.0.tables.lock();
        let older = |id: &&JobId| before.is_none_or(|before| **id < before);
        let ids = tables.jobs.keys().rev().filter(older);
        Ok(ids.take(limit).copied().collect())
    }
    async fn start(&self, key: &TaskKey) -> Result<TokenCheck, BrokerError> {
        let mut tables = self.0.tables.lock();
        Ok(match tables.unit(key) {
            Ok(unit) => {
                match key.stage {
                    Stage::Synthesis => unit.marks.synth_started = key.token,
                    Stage::Proving => unit.marks.prove_started = key.token,
                }
                TokenCheck::Accepted
            }
            Err(current) => TokenCheck::Stale { current },
        })
    }
    async fn mark_shipped(&self, key: &TaskKey, _: Bytes) -> Result<TokenCheck, BrokerError> {
        let mut tables = self.0.tables.lock();
        Ok(match tables.unit(key) {
            Ok(unit) => {
                unit.marks.shipped = key.token;
                TokenCheck::Accepted
            }
            Err(current) => TokenCheck::Stale { current },
        })
    }
    async fn store_result(&self, key: &TaskKey, result: Bytes) -> Result<ResultWrite, BrokerError> {
        let mut tables = self.0.tables.lock();
        Ok(match tables.unit(key) {
            Ok(unit) if unit.marks.has_result => ResultWrite::AlreadyStored,
            Ok(unit) => {
                unit.marks.has_result = true;
                unit.result = Some(result);
                ResultWrite::Stored
            }
            Err(current) => ResultWrite::Stale { current },
        })
    }
    async fn load_result(&self, job: JobId, unit: Unit) -> Result<Option<Bytes>, BrokerError> {
        let tables = self.0.tables.lock();
        let row = tables.jobs.get(&job);
        Ok(row.and_then(|row| row.units.get(&unit)?.result.clone()))
    }
    async fn load_marks(&self, job: JobId, unit: Unit) -> Result<UnitMarks, BrokerError> {
        let tables = self.0.tables.lock();
        let unit = tables.jobs.get(&job).and_then(|row| row.units.get(&unit));
        Ok(unit.map(|unit| unit.marks).unwrap_or_default())
    }
    async fn post_task(&self, worker: &WorkerId, message: Bytes) -> Result<(), BrokerError> {
        self.append(format!("inbox {worker}"), message);
        Ok(())
    }
    async fn post_control(&self, worker: &WorkerId, message: Bytes) -> Result<(), BrokerError> {
        self.append(format!("control {worker}"), message);
        Ok(())
    }
    async fn emit_event(&self, message: Bytes) -> Result<(), BrokerError> {
        self.append("events".into(), message);
        Ok(())
    }
    async fn open_inbox(&self, worker: &WorkerId) -> Result<Box<dyn StreamReader>, BrokerError> {
        Ok(self.open(format!("inbox {worker}")))
    }
    async fn open_control(&self, worker: &WorkerId) -> Result<Box<dyn StreamReader>, BrokerError> {
        Ok(self.open(format!("control {worker}")))
    }
    async fn open_events(
        &self,
        _: &str,
        _: Duration,
    ) -> Result<Box<dyn StreamReader>, BrokerError> {
        Ok(self.open("events".into()))
    }
    async fn drop_inbox(&self, _: &WorkerId) -> Result<(), BrokerError> {
        Ok(())
    }
    async fn append_payload(
        &self,
        _: &PayloadKey,
        _: PayloadEntry,
        _: Duration,
    ) -> Result<(), BrokerError> {
        Ok(())
    }
    async fn open_payload(&self, _: &PayloadKey) -> Result<Box<dyn PayloadReader>, BrokerError> {
        Ok(Box::new(NoPayload))
    }
    async fn drop_payload(&self, _: &PayloadKey) -> Result<(), BrokerError> {
        Ok(())
    }
    async fn payload_usage(&self) -> Result<PayloadUsage, BrokerError> {
        Ok(PayloadUsage {
            used_bytes: 0,
            limit_bytes: None,
        })
    }
    fn max_entry_bytes(&self) -> usize {
        1 << 20
    }
    async fn open_heartbeat(
        &self,
        worker: &WorkerId,
    ) -> Result<Box<dyn HeartbeatLine>, BrokerError> {
        Ok(Box::new(Line {
            broker: self.clone(),
            worker: worker.clone(),
        }))
    }
    async fn workers(&self) -> Result<Vec<Bytes>, BrokerError> {
        let mut tables = self.0.tables.lock();
        let now = Instant::now();
        tables.workers.retain(|_, (_, until)| *until > now);
        Ok(tables.workers.values().map(|(r, _)| r.clone()).collect())
    }
    async fn put_circuit(&self, circuit: &CircuitId, record: Bytes) -> Result<(), BrokerError> {
        let mut tables = self.0.tables.lock();
        tables.circuits.insert(circuit.to_string(), record);
        Ok(())
    }
    async fn circuits(&self) -> Result<Vec<Bytes>, BrokerError> {
        Ok(self.0.tables.lock().circuits.values().cloned().collect())
    }
    async fn append_timeline(&self, job: JobId, records: Vec<Bytes>) -> Result<(), BrokerError> {
        let mut tables = self.0.tables.lock();
        tables.timelines.entry(job).or_default().extend(records);
        Ok(())
    }
    async fn load_timeline(&self, job: JobId) -> Result<Vec<Bytes>, BrokerError> {
        let tables = self.0.tables.lock();
        Ok(tables.timelines.get(&job).cloned().unwrap_or_default())
    }
    async fn put_dead_letter(&self, job: JobId, letter: Bytes) -> Result<(), BrokerError> {
        self.0.tables.lock().letters.insert(job, letter);
        Ok(())
    }
    async fn dead_letters(&self, limit: usize) -> Result<Vec<(JobId, Bytes)>, BrokerError> {
        let tables = self.0.tables.lock();
        let letters = tables.letters.iter().rev().take(limit);
        Ok(letters.map(|(id, letter)| (*id, letter.clone())).collect())
    }
    async fn drop_dead_letter(&self, job: JobId) -> Result<bool, BrokerError> {
        Ok(self.0.tables.lock().letters.remove(&job).is_some())
    }
}
