//! Jobs and messages to test with.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::broker::{
    BrokerHandle, CommitOutcome, JobCommit, JobIndex, LeaderToken, PayloadKey, StreamReader,
    UnitWrite,
};
use crate::protocol::{FencingToken, JobId, Stage, TaskKey, Unit, WorkerId};

/// Long enough for anything that is to be there.
pub(super) const LONG: Duration = Duration::from_secs(60);

/// Short enough to wait for.
pub(super) const SHORT: Duration = Duration::from_millis(200);

/// Longest wait for something that is to happen.
pub(super) const LIMIT: Duration = Duration::from_secs(10);

/// The coordinator that leads.
pub(super) const LEADER: LeaderToken = LeaderToken(5);

pub(super) fn worker(name: &str) -> WorkerId {
    WorkerId::new(name).unwrap()
}

pub(super) fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// A job that was just created.
pub(super) async fn new_job(broker: &BrokerHandle) -> JobId {
    let job = JobId::generate();
    let created = broker.create_job(job, LEADER, bytes("accepted")).await;
    assert_eq!(created.unwrap(), CommitOutcome::Committed { version: 1 });
    job
}

pub(super) fn unit_write(unit: Unit, synth: u64, prove: u64) -> UnitWrite {
    UnitWrite {
        unit,
        record: bytes("unit"),
        synth_token: FencingToken(synth),
        prove_token: FencingToken(prove),
    }
}

pub(super) fn commit(job: JobId, expected_version: u64, units: Vec<UnitWrite>) -> JobCommit {
    JobCommit {
        job,
        expected_version,
        leader: LEADER,
        record: bytes(&format!("after {expected_version}")),
        units,
        index: JobIndex::Active,
    }
}

pub(super) fn ending(
    job: JobId,
    expected_version: u64,
    retain: Duration,
    drop_input: bool,
) -> JobCommit {
    JobCommit {
        index: JobIndex::Ended { retain, drop_input },
        ..commit(job, expected_version, Vec::new())
    }
}

/// A job at version 2 with partition 0 under these tokens.
pub(super) async fn job_with_tokens(broker: &BrokerHandle, synth: u64, prove: u64) -> JobId {
    let job = new_job(broker).await;
    let units = vec![unit_write(Unit::Partition(0), synth, prove)];
    let committed = broker.commit(commit(job, 1, units)).await.unwrap();
    assert_eq!(committed, CommitOutcome::Committed { version: 2 });
    job
}

pub(super) fn task(job: JobId, stage: Stage, token: u64) -> TaskKey {
    TaskKey {
        job,
        unit: Unit::Partition(0),
        stage,
        attempt: 1,
        token: FencingToken(token),
    }
}

pub(super) fn payload_key(job: JobId) -> PayloadKey {
    PayloadKey {
        job,
        partition: 0,
        attempt: 1,
    }
}

/// Reads until there are `count` messages; fails if they do not come.
pub(super) async fn read_bodies(reader: &mut dyn StreamReader, count: usize) -> Vec<Bytes> {
    let mut bodies = Vec::new();
    let started = Instant::now();
    while bodies.len() < count {
        assert!(
            started.elapsed() < LIMIT,
            "only {} of {count} messages came",
            bodies.len()
        );
        let found = reader.read(count, SHORT).await.unwrap();
        bodies.extend(found.into_iter().map(|delivery| delivery.body));
    }
    bodies
}

/// Waits for something to become true; `what` says it for the failure.
pub(super) async fn wait_until(what: &str, mut is_true: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !is_true().await {
        assert!(started.elapsed() < LIMIT, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
