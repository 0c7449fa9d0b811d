//! Reading an assignment stream from its start.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use redis::{FromRedisValue, Value, cmd};

use super::entry::{Entry, ReadAnswer};
use super::leadership::millis;
use super::line::Line;
use super::payload::{CHUNK, INDEX, MANIFEST};
use super::refusal::Refusal;
use super::retry::Patience;
use super::sealing::{Sealing, refuse_sealed};
use crate::broker::limits::{BLOCK_MAX, PAYLOAD_ENTRIES_PER_READ};
use crate::broker::{BrokerError, PayloadEntry, PayloadKey, PayloadReader};

/// See [`PayloadReader`]. It remembers the last entry it saw, so that a broken connection costs nothing.
#[derive(Debug)]
pub(super) struct RedisPayloadReader {
    line: Line,
    stream: String,
    key: PayloadKey,
    sealing: Option<Arc<Sealing>>,
    last: String,
}

impl RedisPayloadReader {
    pub(super) fn open(
        line: Line,
        stream: String,
        key: PayloadKey,
        sealing: Option<Arc<Sealing>>,
    ) -> Self {
        Self {
            line,
            stream,
            key,
            sealing,
            last: "0-0".to_owned(),
        }
    }

    async fn read_once(&mut self, block: Duration) -> Result<Vec<Entry>, Refusal> {
        let mut read = cmd("XREAD");
        read.arg("COUNT").arg(PAYLOAD_ENTRIES_PER_READ);
        // The server takes 0 for "for ever".
        if millis(block) > 0 {
            read.arg("BLOCK").arg(millis(block));
        }
        read.arg("STREAMS").arg(&self.stream).arg(&self.last);
        let ReadAnswer(entries) = self.line.ask(&read, block).await?;
        Ok(entries)
    }
}

impl RedisPayloadReader {
    async fn opened(&self, entries: Vec<PayloadEntry>) -> Result<Vec<PayloadEntry>, BrokerError> {
        match &self.sealing {
            Some(sealing) => sealing.open(&self.key, entries).await,
            None => refuse_sealed(&entries).map(|()| entries),
        }
    }
}

fn payload_entry(mut entry: Entry) -> Result<PayloadEntry, BrokerError> {
    if let Some(manifest) = entry.take(MANIFEST) {
        return Ok(PayloadEntry::Manifest(manifest));
    }
    let index = entry
        .take(INDEX)
        .and_then(|index| u32::from_redis_value(Value::BulkString(index.into())).ok());
    match (index, entry.take(CHUNK)) {
        (Some(index), Some(bytes)) => Ok(PayloadEntry::Chunk { index, bytes }),
        _ => Err(BrokerError::Unexpected {
            detail: format!("entry {} of an assignment has another form", entry.id),
        }),
    }
}

#[async_trait]
impl PayloadReader for RedisPayloadReader {
    async fn read(&mut self, block: Duration) -> Result<Vec<PayloadEntry>, BrokerError> {
        let block = block.min(BLOCK_MAX);
        let deadline = Instant::now() + block;
        let mut patience = Patience::lasting(self.line.endpoint().retry_for.max(block));
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.read_once(left).await {
                Ok(entries) => {
                    if let Some(last) = entries.last() {
                        self.last.clone_from(&last.id);
                    }
                    let entries: Result<Vec<_>, _> =
                        entries.into_iter().map(payload_entry).collect();
                    return self.opened(entries?).await;
                }
                Err(refusal) => patience.or_give_up(refusal).await?,
            }
        }
    }
}
