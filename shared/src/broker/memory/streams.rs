//! Streams of messages that wait for acknowledgement, and of payload that can be read again.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;

use super::Shared;
use super::state::{Expiring, State};
use crate::broker::limits::PAYLOAD_ENTRIES_PER_READ;
use crate::broker::{BrokerError, Delivery, PayloadEntry, PayloadKey, PayloadReader, StreamReader};
use crate::protocol::WorkerId;

/// The consumer of a stream that has one owner.
pub(super) const OWNER: &str = "owner";

/// Which stream of messages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum StreamName {
    Inbox(WorkerId),
    Control(WorkerId),
    Events,
}

/// Messages by id, until they are acknowledged.
#[derive(Debug, Default)]
pub(super) struct Stream {
    next: u64,
    messages: BTreeMap<u64, Message>,
}

#[derive(Debug)]
struct Message {
    body: Bytes,
    delivery_count: u32,
    delivered: Option<Delivered>,
}

/// To whom a message was delivered last, and when.
#[derive(Debug)]
struct Delivered {
    consumer: Arc<str>,
    /// Which reader of that consumer.
    reader: u64,
    at: Instant,
}

/// Entries of an assignment, in the order they were written.
#[derive(Debug, Default)]
pub(super) struct Payload {
    entries: Vec<PayloadEntry>,
    bytes: u64,
}

impl Payload {
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    fn push(&mut self, entry: PayloadEntry) {
        let (PayloadEntry::Chunk { bytes, .. } | PayloadEntry::Manifest(bytes)) = &entry;
        self.bytes += bytes.len() as u64;
        self.entries.push(entry);
    }
}

impl State {
    pub(super) fn append(&mut self, name: StreamName, body: Bytes) {
        let stream = self.streams.entry(name).or_default();
        stream.next += 1;
        stream.messages.insert(
            stream.next,
            Message {
                body,
                delivery_count: 0,
                delivered: None,
            },
        );
    }

    pub(super) fn drop_stream(&mut self, name: &StreamName) {
        self.streams.remove(name);
    }

    pub(super) fn append_payload(&mut self, key: PayloadKey, entry: PayloadEntry, ttl: Duration) {
        let payload = self
            .payloads
            .entry(key)
            .or_insert_with(|| Expiring::for_good(Payload::default()));
        payload.until = Instant::now().checked_add(ttl);
        payload.value.push(copied(entry));
    }

    pub(super) fn drop_payload(&mut self, key: &PayloadKey) {
        self.payloads.remove(key);
    }
}

/// A broker keeps bytes of its own: nothing is shared with whoever sent them.
fn copied(entry: PayloadEntry) -> PayloadEntry {
    match entry {
        PayloadEntry::Chunk { index, bytes } => PayloadEntry::Chunk {
            index,
            bytes: Bytes::copy_from_slice(&bytes),
        },
        PayloadEntry::Manifest(bytes) => PayloadEntry::Manifest(Bytes::copy_from_slice(&bytes)),
    }
}

/// Reads one stream of messages.
pub(super) struct MemoryStreamReader {
    shared: Arc<Shared>,
    name: StreamName,
    consumer: Arc<str>,
    reader: u64,
    /// After what idle time messages of other consumers are taken over; `None` if there are no others. Those of an
    /// earlier reader of the same consumer are taken over at once.
    min_idle: Option<Duration>,
}

impl MemoryStreamReader {
    pub(super) fn open(
        shared: Arc<Shared>,
        name: StreamName,
        consumer: &str,
        min_idle: Option<Duration>,
    ) -> Self {
        Self {
            shared,
            name,
            consumer: Arc::from(consumer),
            reader: rand::random(),
            min_idle,
        }
    }

    fn take(&self, state: &mut State, max: usize) -> Option<Vec<Delivery>> {
        let stream = state.streams.get_mut(&self.name)?;
        let now = Instant::now();
        let is_free = |message: &Message| match &message.delivered {
            None => true,
            Some(delivered) if delivered.consumer == self.consumer => {
                delivered.reader != self.reader
            }
            Some(delivered) => self
                .min_idle
                .is_some_and(|idle| now.duration_since(delivered.at) >= idle),
        };
        let free = stream
            .messages
            .iter_mut()
            .filter(|(_, message)| is_free(message))
            .take(max.max(1));
        let deliveries: Vec<Delivery> = free
            .map(|(id, message)| {
                message.delivery_count += 1;
                message.delivered = Some(Delivered {
                    consumer: Arc::clone(&self.consumer),
                    reader: self.reader,
                    at: now,
                });
                Delivery {
                    id: id.to_string(),
                    delivery_count: message.delivery_count,
                    body: message.body.clone(),
                }
            })
            .collect();
        (!deliveries.is_empty()).then_some(deliveries)
    }
}

impl fmt::Debug for MemoryStreamReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStreamReader")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl StreamReader for MemoryStreamReader {
    async fn read(&mut self, max: usize, block: Duration) -> Result<Vec<Delivery>, BrokerError> {
        let found = self
            .shared
            .wait_for(block, |state| self.take(state, max))
            .await;
        Ok(found.unwrap_or_default())
    }

    async fn ack(&mut self, ids: &[String]) -> Result<(), BrokerError> {
        let mut state = self.shared.state.lock();
        if let Some(stream) = state.streams.get_mut(&self.name) {
            let ids = ids.iter().filter_map(|id| id.parse::<u64>().ok());
            ids.for_each(|id| drop(stream.messages.remove(&id)));
        }
        Ok(())
    }
}

/// Reads one assignment from its start.
pub(super) struct MemoryPayloadReader {
    shared: Arc<Shared>,
    key: PayloadKey,
    next: usize,
}

impl MemoryPayloadReader {
    pub(super) fn open(shared: Arc<Shared>, key: PayloadKey) -> Self {
        Self {
            shared,
            key,
            next: 0,
        }
    }
}

impl fmt::Debug for MemoryPayloadReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryPayloadReader")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl PayloadReader for MemoryPayloadReader {
    async fn read(&mut self, block: Duration) -> Result<Vec<PayloadEntry>, BrokerError> {
        let (key, next) = (self.key, self.next);
        let look = |state: &mut State| {
            state.expire();
            let entries = state.payloads.get(&key)?.value.entries.get(next..)?;
            (!entries.is_empty()).then(|| {
                entries
                    .iter()
                    .take(PAYLOAD_ENTRIES_PER_READ)
                    .cloned()
                    .collect()
            })
        };
        let found: Vec<PayloadEntry> = self.shared.wait_for(block, look).await.unwrap_or_default();
        self.next += found.len();
        Ok(found)
    }
}
