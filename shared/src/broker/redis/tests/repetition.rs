//! Answers that are lost: the call repeats itself, and its effect is there once.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use redis::cmd;

use super::{LIMIT, LONG, RedisBroker, TestServer, bytes, impatient, worker};
use crate::broker::{
    Broker, BrokerError, CommitOutcome, IdempotencyOutcome, JobCommit, JobIndex, LeaderToken,
    PayloadEntry, PayloadKey,
};
use crate::protocol::JobId;

/// How long the server is frozen at least: several time-outs, so that the call is made several times, and the server
/// carries out each of them when it thaws.
const FROZEN: Duration = Duration::from_millis(1200);

/// A server, a broker that repeats its calls, and one that gives up after [`FROZEN`].
struct Bench {
    server: TestServer,
    broker: Arc<RedisBroker>,
    clock: Arc<RedisBroker>,
}

impl Bench {
    async fn new() -> Self {
        let server = TestServer::start().await;
        Self {
            broker: impatient(&server, LIMIT).await,
            clock: impatient(&server, FROZEN).await,
            server,
        }
    }

    /// Makes a call while the server is frozen.
    async fn call_frozen<T, F>(&self, call: impl FnOnce(Arc<RedisBroker>) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = Result<T, BrokerError>> + Send + 'static,
    {
        self.server.freeze();
        let calling = tokio::spawn(call(Arc::clone(&self.broker)));
        self.clock.now().await.unwrap_err();
        assert!(!calling.is_finished());
        self.server.thaw();
        calling.await.unwrap().unwrap()
    }

    async fn stream_length(&self, key: &str) -> usize {
        let mut length = cmd("XLEN");
        length.arg(key);
        self.broker.control.ask(&length).await.unwrap()
    }
}

#[tokio::test]
async fn a_message_is_posted_once() {
    let bench = Bench::new().await;
    bench
        .broker
        .post_task(&worker(), bytes("earlier"))
        .await
        .unwrap();
    bench
        .call_frozen(|broker| async move { broker.post_task(&worker(), bytes("task")).await })
        .await;
    let inbox = bench.broker.keys.inbox(&worker());
    assert_eq!(bench.stream_length(&inbox).await, 2);
}

#[tokio::test]
async fn a_payload_entry_is_appended_once() {
    let bench = Bench::new().await;
    let key = PayloadKey {
        job: JobId::generate(),
        partition: 0,
        attempt: 1,
    };
    let entry = |index| PayloadEntry::Chunk {
        index,
        bytes: bytes("chunk"),
    };
    bench
        .broker
        .append_payload(&key, entry(0), LONG)
        .await
        .unwrap();
    bench
        .call_frozen(move |broker| async move { broker.append_payload(&key, entry(1), LONG).await })
        .await;
    bench
        .broker
        .append_payload(&key, entry(2), LONG)
        .await
        .unwrap();
    let stream = bench.broker.keys.assignment(&key);
    assert_eq!(bench.stream_length(&stream).await, 3);
}

#[tokio::test]
async fn appends_that_overtake_each_other_are_all_kept() {
    let bench = Bench::new().await;
    let key = PayloadKey {
        job: JobId::generate(),
        partition: 0,
        attempt: 1,
    };
    // Another process has numbered its entries further.
    bench
        .broker
        .next_entry
        .store(1000, std::sync::atomic::Ordering::Relaxed);
    let entry = |index| PayloadEntry::Chunk {
        index,
        bytes: bytes("chunk"),
    };
    bench
        .broker
        .append_payload(&key, entry(0), LONG)
        .await
        .unwrap();
    bench
        .broker
        .next_entry
        .store(1, std::sync::atomic::Ordering::Relaxed);
    for index in 1..4 {
        bench
            .broker
            .append_payload(&key, entry(index), LONG)
            .await
            .unwrap();
    }
    let mut reader = bench.broker.open_payload(&key).await.unwrap();
    let found = reader.read(Duration::ZERO).await.unwrap();
    assert_eq!(found, [entry(0), entry(1), entry(2), entry(3)]);
}

#[tokio::test]
async fn timeline_records_are_appended_once() {
    let bench = Bench::new().await;
    let job = JobId::generate();
    let created = bench.broker.create_job(job, LeaderToken(1), bytes("job"));
    created.await.unwrap();
    let append = |broker: Arc<RedisBroker>| async move {
        broker
            .append_timeline(job, vec![bytes("one"), bytes("two")])
            .await
    };
    append(Arc::clone(&bench.broker)).await.unwrap();
    bench.call_frozen(append).await;
    let found = bench.broker.load_timeline(job).await.unwrap();
    let twice = ["one", "two", "one", "two"].map(bytes);
    assert_eq!(found, twice);
}

#[tokio::test]
async fn a_commit_is_answered_as_if_it_was_made_once() {
    let bench = Bench::new().await;
    let job = JobId::generate();
    let created = bench
        .call_frozen(move |broker| async move {
            broker.create_job(job, LeaderToken(1), bytes("job")).await
        })
        .await;
    assert_eq!(created, CommitOutcome::Committed { version: 1 });
    let commit = JobCommit {
        job,
        expected_version: 1,
        leader: LeaderToken(1),
        record: bytes("next"),
        units: Vec::new(),
        index: JobIndex::Active,
    };
    let committed = bench
        .call_frozen(|broker| async move { broker.commit(commit).await })
        .await;
    assert_eq!(committed, CommitOutcome::Committed { version: 2 });
}

#[tokio::test]
async fn a_lead_that_was_granted_is_not_lost() {
    let bench = Bench::new().await;
    let token = bench
        .call_frozen(|broker| async move { broker.acquire_leadership("a", LONG).await })
        .await;
    assert_eq!(token, Some(LeaderToken(1)));
    let other = bench.broker.acquire_leadership("a", LONG).await.unwrap();
    assert_eq!(other, None);
}

#[tokio::test]
async fn an_idempotency_key_is_bound_to_the_job_that_asked() {
    let bench = Bench::new().await;
    let job = JobId::generate();
    let outcome = bench
        .call_frozen(move |broker| async move {
            broker.reserve_idempotency("key", job, "digest", LONG).await
        })
        .await;
    assert_eq!(outcome, IdempotencyOutcome::Reserved);
}
