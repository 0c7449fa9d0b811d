//! A server at its memory limit: payload waits, everything that empties the server goes on.

use bytes::Bytes;

use super::super::heartbeat::RedisHeartbeat;
use super::super::scripts::Scripts;
use super::{Arc, LONG, RedisBroker, TestServer, broker, bytes, worker};
use crate::broker::{
    Broker, BrokerError, CommitOutcome, HeartbeatLine, JobCommit, JobIndex, LeaderToken,
    PayloadEntry, PayloadKey, ResultWrite, TokenCheck, UnitWrite,
};
use crate::protocol::{FencingToken, JobId, Stage, TaskKey, Unit, WorkerId};

const UNIT: Unit = Unit::Partition(0);

fn payload_key(job: JobId) -> PayloadKey {
    PayloadKey {
        job,
        partition: 0,
        attempt: 1,
    }
}

/// Appends payload until the server takes no more.
async fn fill(broker: &RedisBroker, key: &PayloadKey) {
    for index in 0.. {
        let bytes = Bytes::from(vec![7; 1 << 20]);
        let entry = PayloadEntry::Chunk { index, bytes };
        match broker.append_payload(key, entry, LONG).await {
            Ok(()) => assert!(index < 1000, "the server is never full"),
            Err(error) => {
                assert!(matches!(error, BrokerError::OutOfMemory), "{error:?}");
                assert!(index > 0, "nothing fitted");
                return;
            }
        }
    }
}

async fn job(broker: &RedisBroker) -> JobId {
    let job = JobId::generate();
    let created = broker.create_job(job, LeaderToken(1), bytes("job")).await;
    assert_eq!(created.unwrap(), CommitOutcome::Committed { version: 1 });
    job
}

fn commit(job: JobId, expected_version: u64) -> JobCommit {
    JobCommit {
        job,
        expected_version,
        leader: LeaderToken(1),
        record: bytes("record"),
        units: vec![UnitWrite {
            unit: UNIT,
            record: bytes("unit"),
            synth_token: FencingToken(0),
            prove_token: FencingToken(1),
        }],
        index: JobIndex::Active,
    }
}

async fn full_server() -> (TestServer, Arc<RedisBroker>, JobId) {
    let server = TestServer::start_with(&["--maxmemory", "24mb"]).await;
    let broker = broker(&server).await;
    let job = job(&broker).await;
    broker.open_inbox(&worker()).await.unwrap();
    let mut heartbeat = broker.open_heartbeat(&worker()).await.unwrap();
    tokio::task::spawn_blocking(move || heartbeat.beat(b"before", LONG).unwrap())
        .await
        .unwrap();
    fill(&broker, &payload_key(job)).await;
    // Well under what is in use: what a passing buffer frees makes no room.
    let mut lower = redis::cmd("CONFIG");
    lower.arg("SET").arg("maxmemory").arg("8mb");
    broker.control.ask::<()>(&lower).await.unwrap();
    (server, broker, job)
}

#[tokio::test]
async fn a_full_server_still_takes_what_empties_it() {
    let (_server, broker, job) = full_server().await;
    let committed = broker.commit(commit(job, 1)).await.unwrap();
    assert_eq!(committed, CommitOutcome::Committed { version: 2 });
    broker.post_task(&worker(), bytes("prove")).await.unwrap();
    let mut inbox = broker.open_inbox(&worker()).await.unwrap();
    assert_eq!(super::read_some(&mut *inbox).await, [bytes("prove")]);
    let key = TaskKey {
        job,
        unit: UNIT,
        stage: Stage::Proving,
        attempt: 1,
        token: FencingToken(1),
    };
    assert_eq!(broker.start(&key).await.unwrap(), TokenCheck::Accepted);
    let stored = broker.store_result(&key, bytes("proof")).await.unwrap();
    assert_eq!(stored, ResultWrite::Stored);
    broker.emit_event(bytes("stored")).await.unwrap();
    broker
        .append_timeline(job, vec![bytes("proved")])
        .await
        .unwrap();
    broker.put_dead_letter(job, bytes("letter")).await.unwrap();
    let lead = broker.acquire_leadership("a", LONG).await.unwrap();
    assert!(lead.is_some());

    broker.drop_payload(&payload_key(job)).await.unwrap();
    fill(&broker, &payload_key(job)).await;
}

#[tokio::test]
async fn a_full_server_takes_no_new_input_and_keeps_no_part_of_it() {
    let (_server, broker, _) = full_server().await;
    let job = JobId::generate();
    let input = Bytes::from(vec![1; 9 << 20]);
    let refused = broker.put_input(job, input, LONG).await;
    assert!(
        matches!(refused, Err(BrokerError::OutOfMemory)),
        "{refused:?}"
    );
    assert_eq!(broker.get_input(job).await.unwrap(), None);
    let refused = broker.create_job(job, LeaderToken(1), bytes("job")).await;
    assert!(
        matches!(refused, Err(BrokerError::OutOfMemory)),
        "{refused:?}"
    );
    assert!(broker.load_job(job).await.unwrap().is_none());
}

#[tokio::test]
async fn a_worker_may_join_although_the_server_is_full() {
    let (_server, broker, _) = full_server().await;
    let name = WorkerId::new("new").unwrap();
    let mut heartbeat = broker.open_heartbeat(&name).await.unwrap();
    tokio::task::spawn_blocking(move || heartbeat.beat(b"new", LONG).unwrap())
        .await
        .unwrap();
    let workers = broker.workers().await.unwrap();
    assert_eq!(workers, [bytes("new"), bytes("before")]);
    let circuit = "sha256@1".parse().unwrap();
    broker
        .put_circuit(&circuit, bytes("circuit"))
        .await
        .unwrap();
    broker.open_inbox(&name).await.unwrap();
}

#[tokio::test]
async fn a_heartbeat_renews_on_a_full_server_before_redis_7() {
    let (_server, broker, _) = full_server().await;
    let mut heartbeat = RedisHeartbeat::new(
        Arc::clone(broker.control.endpoint()),
        Arc::new(Scripts::new(false)),
        &broker.keys,
        &worker(),
    );
    let ttl = LONG * 10;
    tokio::task::spawn_blocking(move || heartbeat.beat(b"after", ttl).unwrap())
        .await
        .unwrap();
    let mut left = redis::cmd("PTTL");
    left.arg(broker.keys.worker(worker()));
    let left: u128 = broker.control.ask(&left).await.unwrap();
    assert!(left > LONG.as_millis(), "{left} ms left");
    assert_eq!(broker.workers().await.unwrap(), [bytes("before")]);
}
