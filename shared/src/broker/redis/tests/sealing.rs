//! A server whose every byte is read by somebody who should not.

use std::sync::Arc;

use super::{LONG, RedisBroker, SHORT, TestServer, bytes};
use crate::broker::seal::{ClusterKey, SealError};
use crate::broker::{
    Broker, BrokerError, JobCommit, JobIndex, LeaderToken, PayloadEntry, PayloadKey, RedisConfig,
};
use crate::protocol::JobId;

const SECRET: &str = "the planted secret";

async fn open(server: &TestServer, digit: Option<&str>) -> Arc<RedisBroker> {
    let key = |digit: &str| Arc::new(ClusterKey::from_hex(&digit.repeat(64).into()).unwrap());
    let config = RedisConfig {
        cluster_key: digit.map(key),
        ..RedisConfig::new(server.url())
    };
    RedisBroker::connect(config).await.unwrap()
}

fn payload(job: JobId) -> PayloadKey {
    PayloadKey {
        job,
        partition: 0,
        attempt: 1,
    }
}

/// A job with an input, a chunk and a manifest, all of them secret.
async fn secret_job(broker: &RedisBroker) -> JobId {
    let job = JobId::generate();
    broker.put_input(job, bytes(SECRET), LONG).await.unwrap();
    let created = broker.create_job(job, LeaderToken(1), bytes("job")).await;
    created.unwrap();
    let chunk = PayloadEntry::Chunk {
        index: 0,
        bytes: bytes(SECRET),
    };
    for entry in [chunk, PayloadEntry::Manifest(bytes(SECRET))] {
        broker
            .append_payload(&payload(job), entry, LONG)
            .await
            .unwrap();
    }
    job
}

async fn read(broker: &RedisBroker, job: JobId) -> Result<Vec<PayloadEntry>, BrokerError> {
    let mut reader = broker.open_payload(&payload(job)).await?;
    reader.read(SHORT).await
}

fn is_sealed_for(error: &BrokerError, expected: SealError) -> bool {
    matches!(error, BrokerError::Sealed(found) if *found == expected)
}

#[tokio::test]
async fn nothing_secret_is_to_be_read_on_the_server() {
    for (digit, is_readable) in [(Some("a"), false), (None, true)] {
        let log = ["--appendonly", "yes", "--appendfsync", "always"];
        let server = TestServer::start_with(&log).await;
        let broker = open(&server, digit).await;
        secret_job(&broker).await;
        let written = server.written();
        assert!(!written.is_empty());
        let is_found = written
            .windows(SECRET.len())
            .any(|found| found == SECRET.as_bytes());
        assert_eq!(is_found, is_readable, "sealed under {digit:?}");
    }
}

#[tokio::test]
async fn every_process_with_the_key_reads_what_another_wrote() {
    let server = TestServer::start().await;
    let job = secret_job(&*open(&server, Some("a")).await).await;
    let other = open(&server, Some("a")).await;
    assert!(other.check().await.unwrap().is_sealed);
    assert_eq!(other.get_input(job).await.unwrap(), Some(bytes(SECRET)));
    let entries = read(&other, job).await.unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1], PayloadEntry::Manifest(bytes(SECRET)));
}

#[tokio::test]
async fn a_process_with_another_key_or_none_is_told_so_at_its_start() {
    let server = TestServer::start().await;
    let broker = open(&server, Some("a")).await;
    broker.check().await.unwrap();
    let job = secret_job(&broker).await;
    for (digit, expected) in [(Some("b"), SealError::NotOpened), (None, SealError::NoKey)] {
        let other = open(&server, digit).await;
        let refused = other.check().await.unwrap_err();
        assert!(
            refused.to_string().contains("broker.cluster_key"),
            "{refused}"
        );
        assert!(is_sealed_for(
            &other.get_input(job).await.unwrap_err(),
            expected
        ));
        assert!(is_sealed_for(
            &read(&other, job).await.unwrap_err(),
            expected
        ));
    }
}

#[tokio::test]
async fn what_an_unsealed_process_wrote_is_refused() {
    let server = TestServer::start().await;
    let job = JobId::generate();
    let (sealed, open_one) = (open(&server, Some("a")).await, open(&server, None).await);
    sealed.put_input(job, bytes(SECRET), LONG).await.unwrap();
    let entry = PayloadEntry::Manifest(bytes("m"));
    let appended = open_one.append_payload(&payload(job), entry, LONG).await;
    appended.unwrap();
    let refused = read(&sealed, job).await.unwrap_err();
    assert!(is_sealed_for(&refused, SealError::NotSealed), "{refused}");
}

#[tokio::test]
async fn the_key_of_a_job_goes_with_its_end() {
    let server = TestServer::start().await;
    let job = secret_job(&*open(&server, Some("a")).await).await;
    let commit = JobCommit {
        job,
        expected_version: 1,
        leader: LeaderToken(1),
        record: bytes("ended"),
        units: Vec::new(),
        index: JobIndex::Ended {
            retain: LONG,
            drop_input: true,
        },
    };
    let other = open(&server, Some("a")).await;
    other.commit(commit).await.unwrap();
    let refused = read(&other, job).await.unwrap_err();
    assert!(is_sealed_for(&refused, SealError::JobKeyGone), "{refused}");
}
