//! Publisher and fetcher over a broker: streams that are late, damaged, doubled or another task's.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::broker::{BrokerHandle, MemoryBroker, MemoryConfig, PayloadEntry};
use crate::protocol::FailureKind;

/// Long enough for any test of these, short enough to wait for.
const STALL: Duration = Duration::from_millis(400);

fn broker() -> BrokerHandle {
    MemoryBroker::start(MemoryConfig::default())
}

async fn publish(
    broker: &BrokerHandle,
    assignment: &Arc<Assignment>,
) -> Result<ShippedReport, PublishError> {
    AssignmentPublisher::new(Arc::clone(broker))
        .publish(
            key(),
            shape(),
            Arc::clone(assignment),
            || async {},
            || false,
        )
        .await
}

async fn fetch(
    broker: &BrokerHandle,
    facts: AssignmentFacts,
) -> Result<FetchedAssignment, FetchError> {
    AssignmentFetcher::new(Arc::clone(broker))
        .with_stall_limit(STALL)
        .fetch(facts, None, || false)
        .await
}

async fn append(broker: &BrokerHandle, entry: PayloadEntry) {
    broker
        .append_payload(&key(), entry, Duration::from_secs(60))
        .await
        .unwrap();
}

fn entry(chunk: &EncodedChunk) -> PayloadEntry {
    PayloadEntry::Chunk {
        index: chunk.index,
        bytes: chunk.bytes.clone(),
    }
}

/// Puts these chunks and this manifest into a broker's stream, and fetches.
async fn fetch_stream(
    facts: AssignmentFacts,
    chunks: &[EncodedChunk],
    manifest: Option<Bytes>,
) -> Result<FetchedAssignment, FetchError> {
    let broker = broker();
    for chunk in chunks {
        append(&broker, entry(chunk)).await;
    }
    if let Some(manifest) = manifest {
        append(&broker, PayloadEntry::Manifest(manifest)).await;
    }
    fetch(&broker, facts).await
}

fn is_bad_payload(result: &Result<FetchedAssignment, FetchError>) -> bool {
    result
        .as_ref()
        .is_err_and(|error| error.failure().kind == FailureKind::BadPayload)
}

#[tokio::test]
async fn what_is_published_is_fetched() {
    let broker = broker();
    let assignment = mixed(40, 150_000, 40.0);
    let shipped = publish(&broker, &assignment).await.unwrap();
    let sizes = shipped.sizes;
    assert!(sizes.chunks > 1 && sizes.bytes < sizes.raw_bytes);
    assert_eq!(sizes.mix.mixed, 3);
    let fetched = AssignmentFetcher::new(Arc::clone(&broker))
        .fetch(facts_of(&assignment), Some(shipped.manifest_digest), || {
            false
        })
        .await
        .unwrap();
    assert!(fetched.assignment == *assignment);
    assert_eq!(fetched.report.sizes, sizes);
}

#[tokio::test]
async fn a_fetch_may_begin_before_anything_is_sent() {
    let broker = broker();
    let assignment = mixed(40, 150_000, 40.0);
    let facts = facts_of(&assignment);
    let fetching = {
        let broker = Arc::clone(&broker);
        tokio::spawn(async move { fetch(&broker, facts).await })
    };
    tokio::task::yield_now().await;
    publish(&broker, &assignment).await.unwrap();
    assert!(fetching.await.unwrap().unwrap().assignment == *assignment);
}

#[tokio::test]
async fn the_hook_runs_before_the_first_chunk_leaves() {
    let broker = broker();
    let assignment = mixed(40, 10_000, 40.0);
    let calls = AtomicUsize::new(0);
    let hook = || async {
        let mut reader = broker.open_payload(&key()).await.unwrap();
        assert!(reader.read(Duration::ZERO).await.unwrap().is_empty());
        calls.fetch_add(1, Ordering::Relaxed);
    };
    AssignmentPublisher::new(Arc::clone(&broker))
        .publish(key(), shape(), Arc::clone(&assignment), hook, || false)
        .await
        .unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn publishing_twice_is_the_same_payload() {
    let broker = broker();
    let assignment = mixed(40, 150_000, 40.0);
    let first = publish(&broker, &assignment).await.unwrap();
    let second = publish(&broker, &assignment).await.unwrap();
    assert_eq!(first.manifest_digest, second.manifest_digest);
    let fetched = fetch(&broker, facts_of(&assignment)).await.unwrap();
    assert!(fetched.assignment == *assignment);
}

#[tokio::test]
async fn doubled_and_reordered_chunks_are_the_same_payload() {
    let assignment = mixed(40, 10_000, 30.0);
    let (mut chunks, manifest) = encoded(&assignment, SMALL);
    chunks.swap(1, 2);
    chunks.insert(0, chunks[3].clone());
    let found = fetch_stream(facts_of(&assignment), &chunks, Some(manifest.encode())).await;
    assert!(found.unwrap().assignment == *assignment);
}

#[tokio::test]
async fn a_missing_chunk_is_a_bad_payload() {
    let assignment = mixed(40, 10_000, 30.0);
    let (mut chunks, manifest) = encoded(&assignment, SMALL);
    chunks.remove(2);
    let found = fetch_stream(facts_of(&assignment), &chunks, Some(manifest.encode())).await;
    assert!(is_bad_payload(&found));
    assert!(matches!(
        found,
        Err(FetchError::Payload(CodecError::ChunkMissing { chunk: 2 }))
    ));
}

#[tokio::test]
async fn a_chunk_of_another_attempt_is_a_bad_payload() {
    let assignment = mixed(40, 10_000, 30.0);
    let (mut chunks, manifest) = encoded(&assignment, SMALL);
    let mut earlier = key();
    earlier.attempt -= 1;
    chunks[1] = AssignmentEncoder::new(earlier, shape(), Arc::clone(&assignment), SMALL)
        .unwrap()
        .nth(1)
        .unwrap();
    let found = fetch_stream(facts_of(&assignment), &chunks, Some(manifest.encode())).await;
    assert!(is_bad_payload(&found));
    assert!(matches!(
        found,
        Err(FetchError::Payload(CodecError::Foreign {
            what: "attempt",
            ..
        }))
    ));
}

#[tokio::test]
async fn a_damaged_chunk_is_refused_before_the_manifest_comes() {
    let assignment = mixed(40, 10_000, 30.0);
    let (mut chunks, _) = encoded(&assignment, SMALL);
    let mut bytes = chunks[1].bytes.to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    chunks[1].bytes = bytes.into();
    let found = fetch_stream(facts_of(&assignment), &chunks, None).await;
    assert!(is_bad_payload(&found));
    assert!(matches!(
        found,
        Err(FetchError::Payload(CodecError::BlockChecksum { .. }))
    ));
}

#[tokio::test]
async fn chunks_without_a_manifest_are_never_handed_out() {
    let assignment = mixed(40, 10_000, 30.0);
    let (chunks, _) = encoded(&assignment, SMALL);
    let found = fetch_stream(facts_of(&assignment), &chunks, None).await;
    assert!(is_bad_payload(&found));
    assert!(matches!(found, Err(FetchError::ManifestMissing { .. })));
}

#[tokio::test]
async fn a_payload_that_never_comes_is_missing() {
    let found = fetch(&broker(), facts_of(&mixed(1, 10, 0.0))).await;
    assert!(is_bad_payload(&found));
    assert!(matches!(found, Err(FetchError::PayloadMissing { .. })));
}

#[tokio::test]
async fn a_manifest_that_was_not_announced_is_refused() {
    let broker = broker();
    let assignment = mixed(40, 1_000, 30.0);
    publish(&broker, &assignment).await.unwrap();
    let found = AssignmentFetcher::new(broker)
        .fetch(facts_of(&assignment), Some(shape()), || false)
        .await;
    assert!(is_bad_payload(&found));
    assert!(matches!(found, Err(FetchError::OtherManifest)));
}

#[tokio::test]
async fn cancelling_ends_a_fetch_that_waits() {
    let cancel = AtomicBool::new(false);
    let fetcher = AssignmentFetcher::new(broker());
    let fetching = fetcher.fetch(facts_of(&mixed(1, 10, 0.0)), None, || {
        cancel.swap(true, Ordering::Relaxed)
    });
    let found = tokio::time::timeout(Duration::from_secs(5), fetching).await;
    assert!(matches!(found, Ok(Err(FetchError::Cancelled))));
}

#[tokio::test]
async fn cancelling_ends_a_publish_and_removes_what_was_sent() {
    let broker = broker();
    let assignment = mixed(40, 300_000, 60.0);
    let asked = AtomicUsize::new(0);
    let found = AssignmentPublisher::new(Arc::clone(&broker))
        .publish(
            key(),
            shape(),
            Arc::clone(&assignment),
            || async {},
            || asked.fetch_add(1, Ordering::Relaxed) >= 2,
        )
        .await;
    assert!(matches!(found, Err(PublishError::Cancelled)));
    let mut reader = broker.open_payload(&key()).await.unwrap();
    assert!(reader.read(Duration::ZERO).await.unwrap().is_empty());
}

/// A broker with room for this many bytes of payload.
fn cramped(payload_limit_bytes: u64) -> BrokerHandle {
    MemoryBroker::start(MemoryConfig {
        payload_limit_bytes,
        ..MemoryConfig::default()
    })
}

#[tokio::test]
async fn a_broker_that_stays_full_is_given_up_as_infrastructure() {
    let assignment = mixed(40, 300_000, 60.0);
    let found = AssignmentPublisher::new(cramped(3 << 20))
        .with_limits(STALL, STALL)
        .publish(key(), shape(), assignment, || async {}, || false)
        .await;
    let error = found.unwrap_err();
    assert!(matches!(error, PublishError::BrokerFull { .. }));
    assert_eq!(error.failure().kind, FailureKind::Infrastructure);
}

#[tokio::test]
async fn a_full_broker_is_waited_out_until_there_is_room() {
    let broker = cramped(3 << 20);
    let mut other = key();
    other.partition += 1;
    let blocker = PayloadEntry::Chunk {
        index: 0,
        bytes: vec![0; 5 << 19].into(),
    };
    let ttl = Duration::from_secs(60);
    broker.append_payload(&other, blocker, ttl).await.unwrap();
    let assignment = mixed(40, 60_000, 50.0);
    let asked = AtomicUsize::new(0);
    let sending = AssignmentPublisher::new(Arc::clone(&broker));
    let sending = sending.publish(
        key(),
        shape(),
        Arc::clone(&assignment),
        || async {},
        || {
            asked.fetch_add(1, Ordering::Relaxed);
            false
        },
    );
    let making_room = async {
        while asked.load(Ordering::Relaxed) < 3 {
            tokio::task::yield_now().await;
        }
        broker.drop_payload(&other).await.unwrap();
    };
    let (shipped, ()) = tokio::join!(sending, making_room);
    assert!(shipped.is_ok());
    let fetched = fetch(&broker, facts_of(&assignment)).await.unwrap();
    assert!(fetched.assignment == *assignment);
}
