//! Which servers are refused, and in which words.

use std::time::Duration;

use super::{LONG, SHORT, TestServer, broker, bytes};
use crate::broker::{Broker, BrokerError, PayloadEntry, PayloadKey, RedisBroker, RedisConfig};
use crate::protocol::JobId;

/// What the check of a server with these arguments says.
async fn refusal(arguments: &[&str]) -> String {
    let server = TestServer::start_with(arguments).await;
    let refused = broker(&server).await.check().await.unwrap_err();
    assert!(
        matches!(refused, BrokerError::Unsuitable { .. }),
        "{refused:?}"
    );
    refused.to_string()
}

#[tokio::test]
async fn an_evicting_server_is_refused() {
    let text = refusal(&["--maxmemory-policy", "allkeys-lru"]).await;
    assert!(text.contains("allkeys-lru"), "{text}");
    assert!(text.contains("set maxmemory-policy noeviction"), "{text}");
}

#[tokio::test]
async fn a_server_without_a_memory_limit_is_refused() {
    let text = refusal(&["--maxmemory", "0"]).await;
    assert!(text.contains("set maxmemory"), "{text}");
}

#[tokio::test]
async fn a_replica_is_refused() {
    let text = refusal(&["--replicaof", "127.0.0.1", "1"]).await;
    assert!(text.contains("replica"), "{text}");
}

#[tokio::test]
async fn a_server_that_forbids_config_is_judged_by_its_info() {
    let server = TestServer::start_with(&["--rename-command", "CONFIG", ""]).await;
    let report = broker(&server).await.check().await.unwrap();
    assert_eq!(report.limit_bytes, Some(256 << 20));
    let text = refusal(&[
        "--rename-command",
        "CONFIG",
        "",
        "--maxmemory-policy",
        "volatile-ttl",
    ])
    .await;
    assert!(text.contains("volatile-ttl"), "{text}");
}

#[tokio::test]
async fn a_small_bulk_limit_makes_small_entries() {
    let server = TestServer::start_with(&["--proto-max-bulk-len", "1mb"]).await;
    let broker = broker(&server).await;
    broker.check().await.unwrap();
    assert_eq!(broker.max_entry_bytes(), 1 << 20);
    let job = JobId::generate();
    let input = bytes(&"x".repeat(3_500_000));
    broker.put_input(job, input.clone(), LONG).await.unwrap();
    assert!(broker.get_input(job).await.unwrap() == Some(input.clone()));
    let too_large = broker.post_task(&super::worker(), input).await;
    assert!(
        matches!(too_large, Err(BrokerError::EntryTooLarge { .. })),
        "{too_large:?}"
    );
}

#[tokio::test]
async fn an_absent_server_is_named_without_its_password() {
    let config = RedisConfig {
        retry_for: SHORT,
        ..RedisConfig::new("redis://user:hunter2@127.0.0.1:1")
    };
    let error = RedisBroker::connect(config).await.unwrap_err();
    assert!(
        matches!(error, BrokerError::Unreachable { .. }),
        "{error:?}"
    );
    let text = format!("{error} {error:?}");
    assert!(text.contains("redis://127.0.0.1:1"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn a_password_is_needed_where_one_is_set() {
    let server = TestServer::start_with(&["--requirepass", "hunter2"]).await;
    let wrong = server.url().replace("//", "//:wrong@");
    for url in [server.url(), wrong] {
        let error = RedisBroker::connect(RedisConfig::new(url))
            .await
            .unwrap_err();
        assert!(matches!(error, BrokerError::Unsuitable { .. }), "{error:?}");
        assert!(error.to_string().contains("broker url"), "{error}");
    }
    let right = server.url().replace("//", "//:hunter2@");
    let broker = RedisBroker::connect(RedisConfig::new(right)).await.unwrap();
    broker.check().await.unwrap();
    let shown = format!("{} {broker:?}", broker.describe());
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[tokio::test]
async fn payload_goes_to_its_own_server() {
    let (control, payload) = (TestServer::start().await, TestServer::start().await);
    let config = RedisConfig {
        payload_url: Some(payload.url().into()),
        ..RedisConfig::new(control.url())
    };
    let both = RedisBroker::connect(config).await.unwrap();
    both.check().await.unwrap();
    let key = PayloadKey {
        job: JobId::generate(),
        partition: 0,
        attempt: 1,
    };
    let entry = PayloadEntry::Manifest(bytes("manifest"));
    both.append_payload(&key, entry.clone(), LONG)
        .await
        .unwrap();

    let mut there = broker(&payload).await.open_payload(&key).await.unwrap();
    let found = there.read(Duration::ZERO).await.unwrap();
    assert_eq!(found.first(), Some(&entry));
    let mut here = broker(&control).await.open_payload(&key).await.unwrap();
    assert_eq!(here.read(Duration::ZERO).await.unwrap(), []);
    let mut reader = both.open_payload(&key).await.unwrap();
    assert_eq!(reader.read(Duration::ZERO).await.unwrap(), [entry]);
    assert!(both.describe().contains(&payload.url()));
}

#[tokio::test]
async fn an_evicting_payload_server_is_refused() {
    let control = TestServer::start().await;
    let payload = TestServer::start_with(&["--maxmemory-policy", "allkeys-lru"]).await;
    let config = RedisConfig {
        payload_url: Some(payload.url().into()),
        ..RedisConfig::new(control.url())
    };
    let both = RedisBroker::connect(config).await.unwrap();
    let refused = both.check().await.unwrap_err().to_string();
    assert!(refused.contains(&payload.url()), "{refused}");
}

#[test]
fn a_broker_may_be_dropped_within_a_runtime_of_one_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = TestServer::start().await;
        let broker = broker(&server).await;
        let mut reader = broker.open_inbox(&super::worker()).await.unwrap();
        broker
            .post_task(&super::worker(), bytes("task"))
            .await
            .unwrap();
        // The reader's connection outlives the broker.
        drop(broker);
        assert_eq!(super::read_some(&mut *reader).await, [bytes("task")]);
    });
}
