//! About assignment streams.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::given::{LIMIT, LONG, SHORT, bytes, payload_key, wait_until};
use crate::broker::{BrokerError, BrokerHandle, PayloadEntry, PayloadKey, PayloadReader};
use crate::protocol::JobId;

/// An assignment of a job whose input is there.
async fn payload_of_new_input(broker: &BrokerHandle) -> PayloadKey {
    let job = JobId::generate();
    broker.put_input(job, bytes("input"), LONG).await.unwrap();
    payload_key(job)
}

fn chunk(index: u32, length: usize) -> PayloadEntry {
    let fill = u8::try_from(index % 251).unwrap();
    PayloadEntry::Chunk {
        index,
        bytes: Bytes::from(vec![fill; length]),
    }
}

async fn read_entries(reader: &mut dyn PayloadReader, count: usize) -> Vec<PayloadEntry> {
    let mut entries = Vec::new();
    let started = Instant::now();
    while entries.len() < count {
        assert!(
            started.elapsed() < LIMIT,
            "only {} entries came",
            entries.len()
        );
        entries.extend(reader.read(SHORT).await.unwrap());
    }
    entries
}

pub(super) async fn payload_reads_back_in_order_and_can_be_read_twice(broker: BrokerHandle) {
    let key = payload_of_new_input(&broker).await;
    let mut entries: Vec<_> = (0..11).map(|index| chunk(index, 100_000)).collect();
    entries.push(chunk(11, broker.max_entry_bytes()));
    entries.push(PayloadEntry::Manifest(bytes("manifest")));
    for entry in &entries {
        broker
            .append_payload(&key, entry.clone(), LONG)
            .await
            .unwrap();
    }
    for _ in 0..2 {
        let mut reader = broker.open_payload(&key).await.unwrap();
        let found = read_entries(&mut *reader, entries.len()).await;
        assert!(found == entries, "entries came back otherwise");
        assert_eq!(reader.read(Duration::ZERO).await.unwrap(), []);
    }
    let other = payload_key(JobId::generate());
    let mut reader = broker.open_payload(&other).await.unwrap();
    assert_eq!(reader.read(Duration::ZERO).await.unwrap(), []);
}

pub(super) async fn a_payload_reader_wakes(broker: BrokerHandle) {
    let key = payload_of_new_input(&broker).await;
    let mut reader = broker.open_payload(&key).await.unwrap();
    let waiting = tokio::spawn(async move {
        let started = Instant::now();
        (reader.read(LIMIT * 2).await.unwrap(), started.elapsed())
    });
    // By the time another read has ended, this one waits.
    let mut other = broker.open_payload(&key).await.unwrap();
    assert_eq!(other.read(SHORT).await.unwrap(), []);
    broker
        .append_payload(&key, chunk(0, 10), LONG)
        .await
        .unwrap();
    let (found, waited) = waiting.await.unwrap();
    assert_eq!(found, [chunk(0, 10)]);
    assert!(waited < LIMIT, "woke after {waited:?}");
}

pub(super) async fn dropped_payload_is_gone_and_frees_its_bytes(broker: BrokerHandle) {
    const BYTES: u64 = 8 << 20;
    let key = payload_of_new_input(&broker).await;
    let before = broker.payload_usage().await.unwrap();
    assert!(before.limit_bytes.is_some_and(|limit| limit > BYTES));
    for index in 0..8 {
        let entry = chunk(index, 1 << 20);
        broker.append_payload(&key, entry, LONG).await.unwrap();
    }
    let full = broker.payload_usage().await.unwrap();
    assert!(full.used_bytes >= before.used_bytes + BYTES);
    broker.drop_payload(&key).await.unwrap();
    broker.drop_payload(&key).await.unwrap();
    let mut reader = broker.open_payload(&key).await.unwrap();
    assert_eq!(reader.read(Duration::ZERO).await.unwrap(), []);
    wait_until("the bytes are free again", async || {
        let usage = broker.payload_usage().await.unwrap();
        usage.used_bytes < before.used_bytes + BYTES / 2
    })
    .await;
}

pub(super) async fn payload_expires(broker: BrokerHandle) {
    let key = payload_of_new_input(&broker).await;
    broker
        .append_payload(&key, chunk(0, 10), SHORT)
        .await
        .unwrap();
    wait_until("the payload is gone", async || {
        let mut reader = broker.open_payload(&key).await.unwrap();
        reader.read(Duration::ZERO).await.unwrap().is_empty()
    })
    .await;
}

pub(super) async fn an_entry_over_the_limit_is_refused(broker: BrokerHandle) {
    let key = payload_of_new_input(&broker).await;
    let entry = chunk(0, broker.max_entry_bytes() + 1);
    let refused = broker.append_payload(&key, entry, LONG).await;
    assert!(
        matches!(refused, Err(BrokerError::EntryTooLarge { .. })),
        "{refused:?}"
    );
    let mut reader = broker.open_payload(&key).await.unwrap();
    assert_eq!(reader.read(Duration::ZERO).await.unwrap(), []);
}
