//! Ships an assignment: chunks leave while later blocks are still being coded, the manifest last.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::mpsc;

use super::block::EncodingMix;
use super::chunk::{CHUNK_BYTES_MAX, ChunkPlan, EncodedChunk};
use super::encoder::{AssignmentEncoder, ENCODE_BLOCKS_MAX};
use super::failure::PublishError;
use super::manifest::Manifest;
use super::sizes::PayloadSizes;
use crate::broker::{BrokerError, BrokerHandle, PayloadEntry, PayloadKey, Retryability};
use crate::groth16::Assignment;
use crate::protocol::Digest;

/// Chunks that wait between encoder and sender: enough that neither waits for the other's hiccup.
pub const SEND_QUEUE: usize = 2;

/// Chunks on their way to the broker at a time: hides the round trip of each.
pub const SEND_WINDOW: usize = 4;

/// How long a broker may stay at its memory limit before sending is given up: as long as a few proofs take to make room.
pub const FULL_BROKER_LIMIT: Duration = Duration::from_secs(600);

/// How long a broker may be away otherwise: as long as a restart takes.
pub const BROKER_OUTAGE_LIMIT: Duration = Duration::from_secs(60);

/// How long a payload is kept after its last chunk, should nobody delete it: longer than a queue of proofs.
pub const PAYLOAD_TTL: Duration = Duration::from_secs(6 * 3600);

/// Most bytes that shipping holds beside the assignment: blocks that are coded, chunks that wait or are on their way.
pub const ENCODE_BYTES_MAX: u64 = (ENCODE_BLOCKS_MAX * CODING_BLOCK_BYTES
    + (SEND_QUEUE + SEND_WINDOW + 2) * CHUNK_BYTES_MAX) as u64;

/// Result and scratch of a block that is coded.
const CODING_BLOCK_BYTES: usize = 5 * 1024 * 1024;

/// First wait before a refused entry is sent again; doubles each time.
const BACKOFF_MIN: Duration = Duration::from_millis(20);

/// Longest wait before a refused entry is sent again; room is found within this time of becoming free.
const BACKOFF_MAX: Duration = Duration::from_millis(500);

/// What shipping an assignment took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShippedReport {
    /// BLAKE3 digest of the manifest entry, for `Broker::mark_shipped`.
    pub manifest_digest: Digest,
    /// Size of what was sent.
    pub sizes: PayloadSizes,
    /// Time spent coding, while earlier chunks were sent.
    pub encode_time: Duration,
    /// From just before the first chunk to the accepted manifest.
    pub send_time: Duration,
}

/// Sends assignments to a broker. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AssignmentPublisher {
    broker: BrokerHandle,
    full_limit: Duration,
    outage_limit: Duration,
    payload_ttl: Duration,
}

/// What the encoder's thread leaves behind.
struct Encoded {
    manifest: Manifest,
    mix: EncodingMix,
    time: Duration,
}

impl AssignmentPublisher {
    /// Sends to this broker, with the limits of this module.
    #[must_use]
    pub const fn new(broker: BrokerHandle) -> Self {
        Self {
            broker,
            full_limit: FULL_BROKER_LIMIT,
            outage_limit: BROKER_OUTAGE_LIMIT,
            payload_ttl: PAYLOAD_TTL,
        }
    }

    /// Gives up after other times than [`FULL_BROKER_LIMIT`] and [`BROKER_OUTAGE_LIMIT`].
    #[must_use]
    pub const fn with_limits(mut self, full: Duration, outage: Duration) -> Self {
        self.full_limit = full;
        self.outage_limit = outage;
        self
    }

    /// Codes and sends an assignment; ends once the broker has accepted the manifest.
    ///
    /// `before_first` runs when the first chunk is coded, before it leaves: the place to record CHAN_SEND and to tell
    /// the coordinator. `is_cancelled` is asked between chunks and while waiting. On any error what was sent is removed,
    /// as far as the broker can be reached; it expires otherwise.
    ///
    /// # Errors
    /// Every [`PublishError`].
    pub async fn publish<H>(
        &self,
        key: PayloadKey,
        shape: Digest,
        assignment: Arc<Assignment>,
        before_first: impl FnOnce() -> H + Send,
        is_cancelled: impl Fn() -> bool + Send + Sync,
    ) -> Result<ShippedReport, PublishError>
    where
        H: Future<Output = ()> + Send,
    {
        let plan = ChunkPlan::for_entry_limit(self.broker.max_entry_bytes())?;
        let encoder = AssignmentEncoder::new(key, shape, assignment, plan)?;
        let shipped = self.ship(&key, encoder, before_first, &is_cancelled).await;
        if shipped.is_err()
            && let Err(error) = self.broker.drop_payload(&key).await
        {
            tracing::warn!(job = %key.job, partition = key.partition, %error, "payload that was given up stays until it expires");
        }
        shipped
    }

    async fn ship<H: Future<Output = ()> + Send>(
        &self,
        key: &PayloadKey,
        encoder: AssignmentEncoder,
        before_first: impl FnOnce() -> H + Send,
        is_cancelled: &(impl Fn() -> bool + Send + Sync),
    ) -> Result<ShippedReport, PublishError> {
        let (coded, mut chunks) = mpsc::channel(SEND_QUEUE);
        let encoding = tokio::task::spawn_blocking(move || encode(encoder, &coded));
        let first = chunks.recv().await;
        before_first().await;
        let sending_since = Instant::now();
        let later = stream::unfold(chunks, |mut chunks| async {
            chunks.recv().await.map(|chunk| (chunk, chunks))
        });
        stream::iter(first)
            .chain(later)
            .map(Ok)
            .try_for_each_concurrent(SEND_WINDOW, |EncodedChunk { index, bytes, .. }| {
                self.send(key, PayloadEntry::Chunk { index, bytes }, is_cancelled)
            })
            .await?;
        let encoded = match encoding.await {
            Ok(Some(encoded)) => encoded,
            Ok(None) | Err(_) => return Err(PublishError::EncoderDied),
        };
        let manifest = encoded.manifest.encode();
        let (manifest_digest, manifest_bytes) = (Digest::of(&manifest), manifest.len() as u64);
        self.send(key, PayloadEntry::Manifest(manifest), is_cancelled)
            .await?;
        Ok(ShippedReport {
            manifest_digest,
            sizes: PayloadSizes {
                bytes: encoded.manifest.payload_bytes() + manifest_bytes,
                raw_bytes: encoded.manifest.header.raw_bytes(),
                chunks: u32::try_from(encoded.manifest.chunks.len()).unwrap_or(u32::MAX),
                mode: encoded.manifest.header.mode,
                mix: encoded.mix,
            },
            encode_time: encoded.time,
            send_time: sending_since.elapsed(),
        })
    }

    /// Sends one entry, and again while the broker is full or away. Repeating an entry that was stored after all is
    /// harmless: readers take the same chunk twice.
    async fn send(
        &self,
        key: &PayloadKey,
        entry: PayloadEntry,
        is_cancelled: &(impl Fn() -> bool + Send + Sync),
    ) -> Result<(), PublishError> {
        let since = Instant::now();
        let mut pause = BACKOFF_MIN;
        loop {
            if is_cancelled() {
                return Err(PublishError::Cancelled);
            }
            let sent = self
                .broker
                .append_payload(key, entry.clone(), self.payload_ttl);
            let Err(error) = sent.await else {
                return Ok(());
            };
            let waited = since.elapsed();
            match error {
                BrokerError::OutOfMemory if waited >= self.full_limit => {
                    return Err(PublishError::BrokerFull { waited });
                }
                BrokerError::OutOfMemory => {}
                error
                    if error.retryability() == Retryability::Fatal
                        || waited >= self.outage_limit =>
                {
                    return Err(error.into());
                }
                error => {
                    tracing::debug!(job = %key.job, %error, "payload entry is sent again");
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(BACKOFF_MAX);
        }
    }
}

/// Codes chunk after chunk; `None` if nobody takes them any more.
fn encode(mut encoder: AssignmentEncoder, coded: &mpsc::Sender<EncodedChunk>) -> Option<Encoded> {
    let mut time = Duration::ZERO;
    loop {
        let since = Instant::now();
        let chunk = encoder.next();
        time += since.elapsed();
        match chunk {
            Some(chunk) => coded.blocking_send(chunk).ok()?,
            None => {
                let mix = encoder.mix();
                return Some(Encoded {
                    manifest: encoder.finish(),
                    mix,
                    time,
                });
            }
        }
    }
}
