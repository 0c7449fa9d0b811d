//! About deliveries that wait for acknowledgement.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::given::{LIMIT, LONG, SHORT, bytes, read_bodies, wait_until, worker};
use crate::broker::BrokerHandle;

pub(super) async fn unacknowledged_deliveries_come_again(broker: BrokerHandle) {
    let worker = worker("w");
    for message in ["one", "two", "three"] {
        broker.post_task(&worker, bytes(message)).await.unwrap();
    }
    let mut first = broker.open_inbox(&worker).await.unwrap();
    let taken = first.read(2, SHORT).await.unwrap();
    assert_eq!(taken.len(), 2);
    assert!(taken.iter().all(|delivery| delivery.delivery_count == 1));
    first.ack(&[taken[0].id.clone()]).await.unwrap();
    drop(first);

    let mut second = broker.open_inbox(&worker).await.unwrap();
    let again = second.read(9, SHORT).await.unwrap();
    assert_eq!(again[0].body, bytes("two"));
    assert_eq!(again[0].id, taken[1].id);
    assert_eq!(again[0].delivery_count, 2);
    if again.len() < 2 {
        assert_eq!(read_bodies(&mut *second, 1).await, [bytes("three")]);
    }
    drop(second);
    let mut third = broker.open_inbox(&worker).await.unwrap();
    let again = third.read(1, SHORT).await.unwrap();
    assert_eq!(
        (again[0].body.clone(), again[0].delivery_count),
        (bytes("two"), 3)
    );
}

pub(super) async fn a_reader_does_not_see_its_own_deliveries_twice(broker: BrokerHandle) {
    let worker = worker("w");
    broker.post_task(&worker, bytes("one")).await.unwrap();
    let mut reader = broker.open_inbox(&worker).await.unwrap();
    assert_eq!(reader.read(9, SHORT).await.unwrap().len(), 1);
    for _ in 0..5 {
        assert_eq!(reader.read(9, SHORT).await.unwrap(), []);
    }
    broker.post_task(&worker, bytes("two")).await.unwrap();
    assert_eq!(read_bodies(&mut *reader, 1).await, [bytes("two")]);
}

pub(super) async fn acknowledged_deliveries_are_gone(broker: BrokerHandle) {
    let worker = worker("w");
    broker.post_task(&worker, bytes("one")).await.unwrap();
    let mut reader = broker.open_inbox(&worker).await.unwrap();
    let taken = reader.read(9, SHORT).await.unwrap();
    let ids = [taken[0].id.clone()];
    for _ in 0..2 {
        reader.ack(&ids).await.unwrap();
    }
    reader.ack(&[]).await.unwrap();
    drop(reader);
    let mut reader = broker.open_inbox(&worker).await.unwrap();
    assert_eq!(reader.read(9, SHORT).await.unwrap(), []);
}

pub(super) async fn messages_posted_before_the_reader_are_read(broker: BrokerHandle) {
    broker.emit_event(bytes("early")).await.unwrap();
    let mut reader = broker.open_events("c", LONG).await.unwrap();
    assert_eq!(read_bodies(&mut *reader, 1).await, [bytes("early")]);
}

pub(super) async fn blocked_reader_wakes(broker: BrokerHandle) {
    let worker = worker("w");
    let mut reader = broker.open_control(&worker).await.unwrap();
    let waiting = tokio::spawn(async move {
        let started = Instant::now();
        let found = reader.read(9, LIMIT * 2).await.unwrap();
        (found, started.elapsed())
    });
    // By the time another read has ended, this one waits.
    let mut other = broker.open_inbox(&worker).await.unwrap();
    assert_eq!(other.read(9, SHORT).await.unwrap(), []);
    broker.post_control(&worker, bytes("stop")).await.unwrap();
    let (found, waited) = waiting.await.unwrap();
    assert_eq!(found[0].body, bytes("stop"));
    assert!(waited < LIMIT, "woke after {waited:?}");
}

pub(super) async fn a_read_without_messages_ends_in_time(broker: BrokerHandle) {
    let mut reader = broker.open_inbox(&worker("w")).await.unwrap();
    for block in [Duration::ZERO, SHORT] {
        let started = Instant::now();
        assert_eq!(reader.read(9, block).await.unwrap(), []);
        let waited = started.elapsed();
        assert!(
            waited >= block && waited < block + LIMIT,
            "waited {waited:?}"
        );
    }
}

pub(super) async fn control_overtakes_the_inbox(broker: BrokerHandle) {
    let (one, other) = (worker("one"), worker("other"));
    broker.post_task(&one, bytes("task")).await.unwrap();
    broker.post_control(&one, bytes("control")).await.unwrap();
    broker.post_task(&other, bytes("other")).await.unwrap();
    let mut control = broker.open_control(&one).await.unwrap();
    assert_eq!(read_bodies(&mut *control, 1).await, [bytes("control")]);
    let mut inbox = broker.open_inbox(&one).await.unwrap();
    assert_eq!(read_bodies(&mut *inbox, 1).await, [bytes("task")]);
    assert_eq!(inbox.read(9, Duration::ZERO).await.unwrap(), []);
}

pub(super) async fn events_of_a_dead_consumer_are_taken_over(broker: BrokerHandle) {
    broker.emit_event(bytes("event")).await.unwrap();
    let mut dead = broker.open_events("dead", SHORT).await.unwrap();
    assert_eq!(read_bodies(&mut *dead, 1).await, [bytes("event")]);
    drop(dead);
    let mut heir = broker.open_events("heir", SHORT).await.unwrap();
    let mut taken = Vec::new();
    wait_until("the event is taken over", async || {
        taken = heir.read(9, SHORT).await.unwrap();
        !taken.is_empty()
    })
    .await;
    assert_eq!(
        (taken[0].body.clone(), taken[0].delivery_count),
        (bytes("event"), 2)
    );
    heir.ack(&[taken[0].id.clone()]).await.unwrap();
}

pub(super) async fn events_in_work_are_left_alone(broker: BrokerHandle) {
    broker.emit_event(bytes("event")).await.unwrap();
    let mut busy = broker.open_events("busy", LONG).await.unwrap();
    assert_eq!(read_bodies(&mut *busy, 1).await, [bytes("event")]);
    let mut other = broker.open_events("other", LONG).await.unwrap();
    assert_eq!(other.read(9, SHORT).await.unwrap(), []);
    // The same consumer in a new life has them at once.
    let mut again = broker.open_events("busy", LONG).await.unwrap();
    assert_eq!(read_bodies(&mut *again, 1).await, [bytes("event")]);
}

pub(super) async fn a_dropped_inbox_is_empty(broker: BrokerHandle) {
    let worker = worker("w");
    broker.post_task(&worker, bytes("task")).await.unwrap();
    broker
        .post_control(&worker, bytes("control"))
        .await
        .unwrap();
    broker.drop_inbox(&worker).await.unwrap();
    let mut inbox = broker.open_inbox(&worker).await.unwrap();
    assert_eq!(inbox.read(9, Duration::ZERO).await.unwrap(), []);
    let mut control = broker.open_control(&worker).await.unwrap();
    assert_eq!(control.read(9, Duration::ZERO).await.unwrap(), []);
}

pub(super) async fn no_message_is_lost_or_doubled_under_load(broker: BrokerHandle) {
    const WRITERS: usize = 4;
    const MESSAGES: usize = 250;
    let writers = (0..WRITERS).map(|writer| {
        let broker = broker.clone();
        tokio::spawn(async move {
            for at in 0..MESSAGES {
                let message = bytes(&format!("{writer}/{at}"));
                broker.emit_event(message).await.unwrap();
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut reader = broker.open_events("c", LONG).await.unwrap();
    let mut seen = BTreeSet::new();
    let started = Instant::now();
    while seen.len() < WRITERS * MESSAGES {
        assert!(
            started.elapsed() < LIMIT * 3,
            "only {} messages came",
            seen.len()
        );
        let found = reader.read(64, SHORT).await.unwrap();
        let ids: Vec<String> = found.iter().map(|delivery| delivery.id.clone()).collect();
        for delivery in found {
            assert!(seen.insert(delivery.body), "a message came twice");
        }
        reader.ack(&ids).await.unwrap();
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(reader.read(64, Duration::ZERO).await.unwrap(), []);
}
