//! Fetches an assignment: chunks are decoded while later ones still arrive, and handed out only when all is checked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::budget::{AssignmentBudget, BudgetShare};
use super::chunk::CHUNK_BYTES_MAX;
use super::collector::{AssignmentCollector, HELD_CHUNKS_MAX};
use super::failure::FetchError;
use super::header::{AssignmentFacts, PayloadMode};
use super::sizes::PayloadSizes;
use crate::broker::{
    BrokerError, BrokerHandle, PAYLOAD_ENTRIES_PER_READ, PayloadEntry, PayloadReader, Retryability,
};
use crate::groth16::Assignment;
use crate::protocol::Digest;

/// Entries that wait between reader and decoder: at 4 MiB each, memory worth a few milliseconds of either.
pub const DECODE_QUEUE: usize = 2;

/// Most bytes that fetching holds beside the assignment: entries just read, waiting for the decoder, or before their turn.
pub const DECODE_BYTES_MAX: u64 =
    ((PAYLOAD_ENTRIES_PER_READ + DECODE_QUEUE + HELD_CHUNKS_MAX) * CHUNK_BYTES_MAX) as u64;

/// How long no entry may come before the payload counts as lost: longer than a publisher waits out a restart of the
/// broker, shorter than anyone wants a device to idle.
pub const FETCH_STALL_LIMIT: Duration = Duration::from_secs(120);

/// Most assignments whose memory is kept: the next is decoded while one is proved.
pub const SPARES_MAX: usize = 1;

/// Longest single read: how late a cancellation is noticed.
const READ_BLOCK: Duration = Duration::from_millis(250);

/// Wait before a broken connection is opened again.
const REOPEN_PAUSE: Duration = Duration::from_millis(250);

/// What fetching an assignment took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchReport {
    /// Size of what came; an entry that came twice counts once.
    pub sizes: PayloadSizes,
    /// From the call to the first entry.
    pub wait_time: Duration,
    /// From the first entry to the checked assignment.
    pub fetch_time: Duration,
    /// Time spent decoding and checking, most of it while later entries arrived.
    pub decode_time: Duration,
}

/// An assignment that passed every check, with what fetching it took.
#[derive(Debug)]
pub struct FetchedAssignment {
    /// The assignment.
    pub assignment: Assignment,
    /// The memory that is set aside for it; to be kept as long as it is.
    pub share: BudgetShare,
    /// What it took.
    pub report: FetchReport,
}

/// Reads assignments from a broker. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AssignmentFetcher {
    broker: BrokerHandle,
    stall_limit: Duration,
    budget: AssignmentBudget,
    expected: PayloadMode,
    /// Assignments whose memory may be used again; clones share them.
    spares: Arc<Mutex<Vec<Assignment>>>,
}

/// What the decoder's thread leaves behind.
struct Decoded {
    assignment: Assignment,
    share: BudgetShare,
    sizes: PayloadSizes,
    time: Duration,
}

/// The decoder's thread, with the way to it.
struct Decoder {
    entries: mpsc::Sender<PayloadEntry>,
    task: JoinHandle<Result<Option<Decoded>, FetchError>>,
}

impl AssignmentFetcher {
    /// Reads from this broker and gives up after [`FETCH_STALL_LIMIT`] without progress.
    #[must_use]
    pub fn new(broker: BrokerHandle) -> Self {
        Self {
            broker,
            stall_limit: FETCH_STALL_LIMIT,
            budget: AssignmentBudget::unlimited(),
            expected: PayloadMode::Witness,
            spares: Arc::default(),
        }
    }

    /// Fetches only what fits into a budget, and sets memory aside at first for assignments in the `expected` mode.
    #[must_use]
    pub fn within(mut self, budget: AssignmentBudget, expected: PayloadMode) -> Self {
        self.budget = budget;
        self.expected = expected;
        self
    }

    /// Takes an assignment back that was proved: the next one is decoded into its memory.
    pub fn recycle(&self, assignment: Assignment) {
        let mut spares = self.spares.lock();
        if spares.len() < SPARES_MAX {
            spares.push(assignment);
        }
    }

    /// Gives up after another time than [`FETCH_STALL_LIMIT`] without progress.
    #[must_use]
    pub const fn with_stall_limit(mut self, limit: Duration) -> Self {
        self.stall_limit = limit;
        self
    }

    /// Fetches, decodes and checks an assignment. May be called while it is still being sent.
    ///
    /// `facts` must come from the task and the circuit's shape: they decide what is accepted and how much memory it may
    /// take. It waits until its budget has that memory. `manifest` is the digest of the manifest entry, where it is known. `is_cancelled` is asked a few times a
    /// second.
    ///
    /// # Errors
    /// Every [`FetchError`].
    pub async fn fetch(
        &self,
        facts: AssignmentFacts,
        manifest: Option<Digest>,
        is_cancelled: impl Fn() -> bool + Send + Sync,
    ) -> Result<FetchedAssignment, FetchError> {
        let called_at = Instant::now();
        let bytes = facts.fetching_bytes(self.expected);
        let share = self.budget.reserve(bytes, &is_cancelled).await?;
        let spare = self.spares.lock().pop().unwrap_or_default();
        let collector = AssignmentCollector::reusing(facts, spare)?;
        let expected = self.expected;
        let (entries, arrived) = mpsc::channel(DECODE_QUEUE);
        let task = tokio::task::spawn_blocking(move || {
            let decoding = Decoding {
                collector,
                share,
                expected,
            };
            decoding.run(arrived, manifest)
        });
        let decoder = Decoder { entries, task };
        let first_at = self.read(&facts, &decoder, &is_cancelled).await;
        drop(decoder.entries);
        let decoded = decoder.task.await.map_err(|_| FetchError::DecoderDied)?;
        // A reader that stopped because the decoder did has nothing to say that is more to the point.
        let decoded = decoded?;
        let first_at = first_at?;
        let decoded = decoded.ok_or(FetchError::DecoderDied)?;
        Ok(FetchedAssignment {
            report: FetchReport {
                sizes: decoded.sizes,
                wait_time: first_at - called_at,
                fetch_time: first_at.elapsed(),
                decode_time: decoded.time,
            },
            assignment: decoded.assignment,
            share: decoded.share,
        })
    }

    /// Passes entries on until the manifest has gone through or the decoder takes no more; answers with the instant of
    /// the first entry.
    async fn read(
        &self,
        facts: &AssignmentFacts,
        decoder: &Decoder,
        is_cancelled: &(impl Fn() -> bool + Send + Sync),
    ) -> Result<Instant, FetchError> {
        let mut reader: Option<Box<dyn PayloadReader>> = None;
        let mut first_at = None;
        let mut progress_at = Instant::now();
        let mut chunks = 0;
        loop {
            if is_cancelled() {
                return Err(FetchError::Cancelled);
            }
            let waited = progress_at.elapsed();
            let entries = match self.read_some(facts, &mut reader).await {
                Ok(entries) => entries,
                Err(error)
                    if error.retryability() == Retryability::Fatal
                        || waited >= self.stall_limit =>
                {
                    return Err(error.into());
                }
                Err(error) => {
                    tracing::debug!(job = %facts.key.job, %error, "payload is opened again");
                    reader = None;
                    tokio::time::sleep(REOPEN_PAUSE).await;
                    continue;
                }
            };
            if entries.is_empty() && waited >= self.stall_limit {
                return Err(match first_at {
                    None => FetchError::PayloadMissing { waited },
                    Some(_) => FetchError::ManifestMissing { chunks, waited },
                });
            }
            for entry in entries {
                progress_at = Instant::now();
                let first_at = *first_at.get_or_insert(progress_at);
                let is_last = matches!(entry, PayloadEntry::Manifest(_));
                chunks += 1;
                if decoder.entries.send(entry).await.is_err() || is_last {
                    return Ok(first_at);
                }
            }
        }
    }

    /// Reads what is there, opening the stream first where needed.
    async fn read_some(
        &self,
        facts: &AssignmentFacts,
        reader: &mut Option<Box<dyn PayloadReader>>,
    ) -> Result<Vec<PayloadEntry>, BrokerError> {
        let reader = match reader {
            Some(reader) => reader,
            None => reader.insert(self.broker.open_payload(&facts.key).await?),
        };
        reader.read(READ_BLOCK).await
    }
}

/// A decoder's thread at work.
struct Decoding {
    collector: AssignmentCollector,
    share: BudgetShare,
    expected: PayloadMode,
}

impl Decoding {
    /// Collects entries until the manifest; `None` if the reader stopped before it.
    fn run(
        mut self,
        mut arrived: mpsc::Receiver<PayloadEntry>,
        announced: Option<Digest>,
    ) -> Result<Option<Decoded>, FetchError> {
        let mut time = Duration::ZERO;
        while let Some(entry) = arrived.blocking_recv() {
            let since = Instant::now();
            match entry {
                PayloadEntry::Chunk { index, bytes } => self.take(index, bytes)?,
                PayloadEntry::Manifest(manifest) => {
                    if announced.is_some_and(|digest| digest != Digest::of(&manifest)) {
                        return Err(FetchError::OtherManifest);
                    }
                    return self.finish(&manifest, time, since).map(Some);
                }
            }
            time += since.elapsed();
        }
        Ok(None)
    }

    /// Takes a chunk; the first says whether more travels than memory was set aside for.
    fn take(&mut self, index: u32, bytes: Bytes) -> Result<(), FetchError> {
        self.collector.push_chunk(index, bytes)?;
        if let Some(mode) = self.collector.mode()
            && mode != self.expected
        {
            let bytes = self.collector.facts().fetching_bytes(mode);
            self.share.try_grow_to(bytes)?;
            self.expected = mode;
        }
        Ok(())
    }

    fn finish(
        self,
        manifest: &[u8],
        before: Duration,
        since: Instant,
    ) -> Result<Decoded, FetchError> {
        let bytes = self.collector.bytes() + manifest.len() as u64;
        let (chunks, mix) = (self.collector.chunk_count(), self.collector.mix());
        let raw_bytes = self.collector.raw_bytes();
        let assignment = self.collector.finish(manifest)?;
        Ok(Decoded {
            sizes: PayloadSizes {
                bytes,
                raw_bytes,
                chunks: u32::try_from(chunks).unwrap_or(u32::MAX),
                mode: PayloadMode::of(&assignment),
                mix,
            },
            assignment,
            share: self.share,
            time: before + since.elapsed(),
        })
    }
}
