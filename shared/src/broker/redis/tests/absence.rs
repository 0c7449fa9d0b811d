//! Restarts, freezes, and reads that are cut off.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

use super::{LIMIT, LONG, SHORT, TestServer, broker, bytes, impatient, read_some, worker};
use crate::broker::{Broker, BrokerError, CommitOutcome, LeaderToken};
use crate::protocol::JobId;

#[tokio::test]
async fn a_restart_is_survived_by_reader_commands_and_heartbeat() {
    let mut server = TestServer::start().await;
    let broker = broker(&server).await;
    let mut reader = broker.open_inbox(&worker()).await.unwrap();
    let mut heartbeat = broker.open_heartbeat(&worker()).await.unwrap();
    let mut heartbeat = tokio::task::spawn_blocking(move || {
        heartbeat.beat(b"before", LONG).unwrap();
        heartbeat
    })
    .await
    .unwrap();
    broker.post_task(&worker(), bytes("before")).await.unwrap();
    assert_eq!(read_some(&mut *reader).await, [bytes("before")]);

    server.start_again().await;
    broker.post_task(&worker(), bytes("after")).await.unwrap();
    assert_eq!(read_some(&mut *reader).await, [bytes("after")]);
    tokio::task::spawn_blocking(move || heartbeat.beat(b"after", LONG).unwrap())
        .await
        .unwrap();
    assert_eq!(broker.workers().await.unwrap(), [bytes("after")]);
    let job = JobId::generate();
    let created = broker.create_job(job, LeaderToken(1), bytes("job")).await;
    assert_eq!(created.unwrap(), CommitOutcome::Committed { version: 1 });
}

#[tokio::test]
async fn what_a_durable_server_kept_is_delivered_after_its_restart() {
    let durable = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut server = TestServer::start_with(&durable).await;
    let broker = broker(&server).await;
    let job = JobId::generate();
    broker
        .create_job(job, LeaderToken(1), bytes("job"))
        .await
        .unwrap();
    for message in ["read", "unread"] {
        broker.post_task(&worker(), bytes(message)).await.unwrap();
    }
    let mut reader = broker.open_inbox(&worker()).await.unwrap();
    let read = reader.read(1, SHORT).await.unwrap();
    assert_eq!(read[0].body, bytes("read"));

    server.start_again().await;
    assert_eq!(read_some(&mut *reader).await, [bytes("unread")]);
    reader.ack(&[read[0].id.clone()]).await.unwrap();
    drop(reader);
    let mut next = broker.open_inbox(&worker()).await.unwrap();
    assert_eq!(read_some(&mut *next).await, [bytes("unread")]);
    assert_eq!(broker.active_jobs().await.unwrap(), [job]);
}

#[tokio::test]
async fn a_call_waits_for_a_server_that_comes_back() {
    let mut server = TestServer::start().await;
    let broker = broker(&server).await;
    server.kill();
    let waiting = tokio::spawn(async move { broker.now().await });
    server.start_again().await;
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_server_that_stays_away_is_reported_in_time() {
    let mut server = TestServer::start().await;
    let broker = impatient(&server, SHORT).await;
    let mut reader = broker.open_inbox(&worker()).await.unwrap();
    server.kill();
    let started = Instant::now();
    let error = broker.now().await.unwrap_err();
    assert!(
        matches!(error, BrokerError::Unreachable { .. }),
        "{error:?}"
    );
    let error = reader.read(1, SHORT).await.unwrap_err();
    assert!(
        matches!(error, BrokerError::Unreachable { .. }),
        "{error:?}"
    );
    assert!(started.elapsed() < LIMIT);
}

#[tokio::test]
async fn a_frozen_server_times_out_and_works_on_when_it_thaws() {
    let server = TestServer::start().await;
    let broker = impatient(&server, SHORT).await;
    server.freeze();
    let error = broker.now().await.unwrap_err();
    assert!(
        matches!(
            error,
            BrokerError::Timeout { .. } | BrokerError::Unreachable { .. }
        ),
        "{error:?}"
    );
    server.thaw();
    broker.now().await.unwrap();
}

#[tokio::test]
async fn a_message_that_a_cut_off_read_took_is_delivered() {
    let server = TestServer::start().await;
    let broker = impatient(&server, LIMIT).await;
    let clock = impatient(&server, SHORT * 4).await;
    let mut reader = broker.open_inbox(&worker()).await.unwrap();
    assert_eq!(reader.read(9, SHORT).await.unwrap(), []);
    // The read's answer is late: the reader gives up its connection while the server has the read before it.
    server.freeze();
    let thawing = tokio::spawn(async move {
        let read = reader.read(9, SHORT * 2).await;
        (reader, read)
    });
    clock.now().await.unwrap_err();
    server.thaw();
    broker.post_task(&worker(), bytes("task")).await.unwrap();
    let (mut reader, read) = thawing.await.unwrap();
    let bodies: Vec<_> = read
        .unwrap_or_default()
        .into_iter()
        .map(|delivery| delivery.body)
        .collect();
    if bodies.is_empty() {
        assert_eq!(read_some(&mut *reader).await, [bytes("task")]);
    } else {
        assert_eq!(bodies, [bytes("task")]);
    }
}

/// Runs a future until it waits for the `wait`th time, and drops it then.
async fn until_wait<T>(wait: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut waited = 0;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => {
            waited += 1;
            if waited < wait {
                Poll::Pending
            } else {
                Poll::Ready(None)
            }
        }
    })
    .await
}

#[tokio::test]
async fn reads_that_are_dropped_lose_nothing() {
    const MESSAGES: usize = 200;
    let server = TestServer::start().await;
    let broker = broker(&server).await;
    let mut reader = broker.open_inbox(&worker()).await.unwrap();
    let posting = tokio::spawn({
        let broker = broker.clone();
        async move {
            for at in 0..MESSAGES {
                let message = bytes(&at.to_string());
                broker.post_task(&worker(), message).await.unwrap();
            }
        }
    });
    let mut seen = BTreeSet::new();
    let started = Instant::now();
    // Dropped at its first, second, … wait, so that every step of a read is cut off at some time.
    let mut waits = (1..=12).cycle();
    let mut dropped = 0;
    while seen.len() < MESSAGES {
        assert!(
            started.elapsed() < LIMIT * 2,
            "{} of {MESSAGES} came",
            seen.len()
        );
        let wait = waits.next().unwrap();
        let Some(found) = until_wait(wait, reader.read(3, SHORT)).await else {
            dropped += 1;
            continue;
        };
        for delivery in found.unwrap() {
            assert!(seen.insert(delivery.body), "a message came twice");
        }
    }
    assert!(dropped > 0, "no read was dropped");
    posting.await.unwrap();
}

#[tokio::test]
async fn a_flushed_server_gets_its_streams_again() {
    let server = TestServer::start().await;
    let broker = broker(&server).await;
    let mut reader = broker.open_events("c", LONG).await.unwrap();
    let reading = tokio::spawn(async move { read_some(&mut *reader).await });
    broker
        .control
        .ask::<()>(&redis::cmd("FLUSHALL"))
        .await
        .unwrap();
    broker.emit_event(bytes("event")).await.unwrap();
    assert_eq!(reading.await.unwrap(), [bytes("event")]);
}

#[tokio::test]
async fn two_heirs_share_what_a_dead_consumer_left() {
    const MESSAGES: usize = 100;
    let server = TestServer::start().await;
    let broker = broker(&server).await;
    for at in 0..MESSAGES {
        broker.emit_event(bytes(&at.to_string())).await.unwrap();
    }
    let mut dead = broker.open_events("dead", SHORT).await.unwrap();
    assert_eq!(dead.read(MESSAGES, SHORT).await.unwrap().len(), MESSAGES);
    drop(dead);
    let heirs = ["one", "two"].map(|name| {
        let broker = broker.clone();
        tokio::spawn(async move {
            let mut heir = broker.open_events(name, SHORT).await.unwrap();
            let mut bodies = Vec::new();
            let mut idle_reads = 0;
            while idle_reads < 5 {
                let found = heir.read(7, SHORT).await.unwrap();
                idle_reads = if found.is_empty() { idle_reads + 1 } else { 0 };
                let ids: Vec<_> = found.iter().map(|delivery| delivery.id.clone()).collect();
                heir.ack(&ids).await.unwrap();
                bodies.extend(found.into_iter().map(|delivery| delivery.body));
            }
            bodies
        })
    });
    let mut all = Vec::new();
    for heir in heirs {
        all.extend(heir.await.unwrap());
    }
    let distinct: BTreeSet<_> = all.iter().cloned().collect();
    assert_eq!((all.len(), distinct.len()), (MESSAGES, MESSAGES));
}
