//! What is left behind: nothing that does not end.

use redis::cmd;

use super::{Duration, LONG, RedisBroker, TestServer, broker, bytes, worker};
use crate::broker::{
    Broker, JobCommit, JobIndex, LeaderToken, PayloadEntry, PayloadKey, RedisConfig, UnitWrite,
};
use crate::protocol::{Digest, FencingToken, JobId, Stage, TaskKey, Unit};

/// A job that went through everything and ended.
async fn ended_job(broker: &RedisBroker, retain: Duration, drop_input: bool) -> JobId {
    let job = JobId::generate();
    broker.put_input(job, bytes("input"), LONG).await.unwrap();
    broker
        .create_job(job, LeaderToken(1), bytes("job"))
        .await
        .unwrap();
    let units = [Unit::Plan, Unit::Partition(0), Unit::Finish].map(|unit| UnitWrite {
        unit,
        record: bytes("unit"),
        synth_token: FencingToken(1),
        prove_token: FencingToken(0),
    });
    let mut commit = JobCommit {
        job,
        expected_version: 1,
        leader: LeaderToken(1),
        record: bytes("running"),
        units: units.to_vec(),
        index: JobIndex::Active,
    };
    broker.commit(commit.clone()).await.unwrap();
    let key = |unit| TaskKey {
        job,
        unit,
        stage: Stage::Synthesis,
        attempt: 1,
        token: FencingToken(1),
    };
    broker
        .store_result(&key(Unit::Plan), bytes("plan"))
        .await
        .unwrap();
    broker
        .append_timeline(job, vec![bytes("begin")])
        .await
        .unwrap();
    let payload = PayloadKey {
        job,
        partition: 0,
        attempt: 1,
    };
    let manifest = PayloadEntry::Manifest(bytes("manifest"));
    broker
        .append_payload(&payload, manifest, LONG)
        .await
        .unwrap();
    broker
        .mark_shipped(&key(Unit::Partition(0)), Digest::of(b"manifest"))
        .await
        .unwrap();

    commit.expected_version = 2;
    commit.units.clear();
    commit.index = JobIndex::Ended { retain, drop_input };
    broker.commit(commit).await.unwrap();
    // Stragglers write after the end.
    broker
        .store_result(&key(Unit::Finish), bytes("output"))
        .await
        .unwrap();
    broker
        .append_timeline(job, vec![bytes("end")])
        .await
        .unwrap();
    broker.start(&key(Unit::Partition(0))).await.unwrap();
    job
}

async fn keys_of(broker: &RedisBroker, job: JobId) -> Vec<String> {
    let mut keys = cmd("KEYS");
    keys.arg(format!("*{job}*"));
    broker.control.ask(&keys).await.unwrap()
}

#[tokio::test]
async fn every_key_of_an_ended_job_expires() {
    let server = TestServer::start().await;
    let broker = broker(&server).await;
    for drop_input in [true, false] {
        let job = ended_job(&broker, LONG, drop_input).await;
        let keys = keys_of(&broker, job).await;
        assert_eq!(keys.len(), if drop_input { 8 } else { 9 }, "{keys:?}");
        for key in keys {
            let mut left = cmd("PTTL");
            left.arg(&key);
            let left: i64 = broker.control.ask(&left).await.unwrap();
            assert!(left > 0, "{key} stays for ever");
        }
    }
}

#[tokio::test]
async fn jobs_whose_retention_is_over_leave_no_key_and_no_listing() {
    let server = TestServer::start().await;
    let broker = broker(&server).await;
    for _ in 0..20 {
        let job = ended_job(&broker, Duration::ZERO, true).await;
        let keys = keys_of(&broker, job).await;
        let is_payload = |key: &String| key.contains(":assignment:");
        assert!(keys.iter().all(is_payload), "{keys:?}");
    }
    assert_eq!(broker.active_jobs().await.unwrap(), []);
    assert_eq!(broker.recent_jobs(None, 9).await.unwrap(), []);
}

#[tokio::test]
async fn listings_of_long_gone_jobs_are_forgotten() {
    let server = TestServer::start().await;
    let broker = broker(&server).await;
    // Named an hour ago: the creator died between the listing and the record, or the retention is over.
    let hour_ago = broker.now().await.unwrap().0 / 1_000_000 - 3600;
    let time = uuid::Timestamp::from_unix(uuid::NoContext, hour_ago, 0);
    let gone = JobId::from_uuid(uuid::Uuid::new_v7(time));
    let unborn = JobId::generate();
    for job in [gone, unborn] {
        broker.list_job(job).await.unwrap();
    }
    assert_eq!(broker.active_jobs().await.unwrap(), []);
    ended_job(&broker, LONG, true).await;
    for list in [broker.keys.active(), broker.keys.recent()] {
        let mut range = cmd("ZRANGE");
        range.arg(&list).arg(0).arg(-1);
        let listed: Vec<String> = broker.control.ask(&range).await.unwrap();
        assert!(
            !listed.contains(&gone.to_string()),
            "{list} keeps a job that is gone"
        );
        assert!(
            listed.contains(&unborn.to_string()),
            "{list} forgot a job on its way"
        );
    }
}

#[tokio::test]
async fn an_acknowledged_message_leaves_no_entry() {
    let server = TestServer::start().await;
    let broker = broker(&server).await;
    let mut reader = broker.open_inbox(&worker()).await.unwrap();
    for _ in 0..10 {
        broker.post_task(&worker(), bytes("task")).await.unwrap();
        let found = reader.read(1, LONG).await.unwrap();
        reader.ack(&[found[0].id.clone()]).await.unwrap();
    }
    let mut length = cmd("XLEN");
    length.arg(broker.keys.inbox(&worker()));
    let length: usize = broker.control.ask(&length).await.unwrap();
    assert_eq!(length, 0);
    broker.drop_inbox(&worker()).await.unwrap();
    let left: usize = broker.control.ask(&cmd("DBSIZE")).await.unwrap();
    // The control stream was never opened.
    assert_eq!(left, 0);
}

#[tokio::test]
async fn clusters_with_other_prefixes_do_not_meet() {
    let server = TestServer::start().await;
    let one = broker(&server).await;
    let config = RedisConfig {
        prefix: "other".to_owned(),
        ..RedisConfig::new(server.url())
    };
    let other = RedisBroker::connect(config).await.unwrap();
    let job = JobId::generate();
    one.create_job(job, LeaderToken(1), bytes("job"))
        .await
        .unwrap();
    one.emit_event(bytes("event")).await.unwrap();
    assert!(other.load_job(job).await.unwrap().is_none());
    assert_eq!(other.active_jobs().await.unwrap(), []);
    let mut events = other.open_events("c", LONG).await.unwrap();
    assert_eq!(events.read(9, Duration::ZERO).await.unwrap(), []);
}
