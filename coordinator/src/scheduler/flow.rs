//! How far synthesis may run ahead of the devices: by assignments waiting, and by bytes in flight.

use std::collections::HashMap;
use std::time::Duration;

use proofmill_shared::protocol::{Digest, JobId};

/// Most partitions in synthesis or waiting a device, however slow synthesis is against proving.
const MAX_AHEAD_PER_DEVICE: usize = 256;

/// What a byte of payload costs a Redis server, in hundredths: entries and their lists included.
const BROKER_COST_PERCENT: u64 = 125;

/// What is set aside for the next assignment of a shape, against the largest seen, in hundredths: another input may take
/// a little more.
const LARGEST_SEEN_PERCENT: u64 = 110;

/// Weight of the newest measurement in a learned duration, as one part in so many.
const LEARNING: u32 = 4;

/// Limits on what is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowLimits {
    /// Assignments that may wait for each device, beyond those that synthesis needs under way to keep it fed.
    pub lookahead: usize,
    /// Bytes of payload that may be in the broker; `None` for no limit.
    pub payload_bytes: Option<u64>,
}

/// What is known of the assignments of a shape.
#[derive(Debug, Clone, Copy, Default)]
struct ShapeFacts {
    worst_case_bytes: u64,
    /// Largest seen.
    shipped_bytes: Option<u64>,
    synthesis: Option<Duration>,
    proving: Option<Duration>,
}

/// A partition from its assignment to synthesis until its payload is gone.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    bytes: u64,
    /// True until a device starts on it.
    is_waiting: bool,
}

/// What is in flight, and what was learned of each shape.
#[derive(Debug)]
pub(super) struct Flow {
    limits: FlowLimits,
    shapes: HashMap<Digest, ShapeFacts>,
    partitions: HashMap<(JobId, u32), InFlight>,
    waiting: usize,
    bytes: u64,
}

impl Flow {
    pub(super) fn new(limits: FlowLimits) -> Self {
        Self {
            limits,
            shapes: HashMap::new(),
            partitions: HashMap::new(),
            waiting: 0,
            bytes: 0,
        }
    }

    /// True if another partition of a shape may go to synthesis.
    ///
    /// One always may when nothing is in flight: whether it fits is then for the worker to say, who knows its exact size.
    pub(super) fn admits(&self, shape: Option<Digest>, devices: usize) -> bool {
        if self.partitions.is_empty() {
            return true;
        }
        let facts = self.facts(shape);
        let ahead = facts.ahead(self.limits.lookahead) * devices.max(1);
        let fits = self
            .limits
            .payload_bytes
            .is_none_or(|limit| self.bytes.saturating_add(facts.estimate()) <= limit);
        self.waiting < ahead && fits
    }

    pub(super) fn shape_known(&mut self, shape: Digest, worst_case_bytes: u64) {
        self.shapes.entry(shape).or_default().worst_case_bytes = worst_case_bytes;
    }

    pub(super) fn reserve(&mut self, job: JobId, partition: u32, shape: Option<Digest>) {
        let bytes = self.facts(shape).estimate();
        self.put(
            (job, partition),
            InFlight {
                bytes,
                is_waiting: true,
            },
        );
    }

    pub(super) fn shipped(
        &mut self,
        job: JobId,
        partition: u32,
        shape: Option<Digest>,
        bytes: Option<u64>,
        took: Option<Duration>,
    ) {
        if let Some(shape) = shape {
            let facts = self.shapes.entry(shape).or_default();
            facts.shipped_bytes = facts.shipped_bytes.max(bytes);
            learn(&mut facts.synthesis, took);
        }
        let exact = bytes.map(in_broker);
        let is_waiting = self.is_waiting(job, partition).unwrap_or(true);
        let bytes = exact.unwrap_or_else(|| self.facts(shape).estimate());
        self.put((job, partition), InFlight { bytes, is_waiting });
    }

    pub(super) fn proving_began(&mut self, job: JobId, partition: u32) {
        self.set_waiting(job, partition, false);
    }

    /// A partition is (again) without a device.
    pub(super) fn waits_for_device(&mut self, job: JobId, partition: u32) {
        self.set_waiting(job, partition, true);
    }

    pub(super) fn proved(&mut self, shape: Digest, took: Duration) {
        let facts = self.shapes.entry(shape).or_default();
        learn(&mut facts.proving, Some(took));
    }

    pub(super) fn gone(&mut self, job: JobId, partition: u32) {
        if let Some(gone) = self.partitions.remove(&(job, partition)) {
            self.bytes -= gone.bytes;
            self.waiting -= usize::from(gone.is_waiting);
        }
    }

    pub(super) fn forget(&mut self, job: JobId) {
        let of_job = self.partitions.keys().filter(|(of, _)| *of == job);
        for (job, partition) in of_job.copied().collect::<Vec<_>>() {
            self.gone(job, partition);
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.partitions.len()
    }

    fn facts(&self, shape: Option<Digest>) -> ShapeFacts {
        shape
            .and_then(|shape| self.shapes.get(&shape).copied())
            .unwrap_or_default()
    }

    fn is_waiting(&self, job: JobId, partition: u32) -> Option<bool> {
        self.partitions
            .get(&(job, partition))
            .map(|partition| partition.is_waiting)
    }

    fn set_waiting(&mut self, job: JobId, partition: u32, is_waiting: bool) {
        if let Some(found) = self.partitions.get(&(job, partition)).copied() {
            self.put(
                (job, partition),
                InFlight {
                    is_waiting,
                    ..found
                },
            );
        }
    }

    fn put(&mut self, key: (JobId, u32), partition: InFlight) {
        self.gone(key.0, key.1);
        self.bytes += partition.bytes;
        self.waiting += usize::from(partition.is_waiting);
        self.partitions.insert(key, partition);
    }
}

impl ShapeFacts {
    /// Bytes to set aside for one assignment: somewhat more than the largest seen, the worst case until one was.
    fn estimate(&self) -> u64 {
        let bytes = match self.shipped_bytes {
            None => self.worst_case_bytes,
            Some(seen) => seen
                .saturating_mul(LARGEST_SEEN_PERCENT)
                .div_ceil(100)
                .min(self.worst_case_bytes.max(seen)),
        };
        in_broker(bytes)
    }

    /// Partitions a device may have in synthesis and waiting: the lookahead, and as many as synthesis must have under way
    /// so that one is ready whenever the device is (Little's law).
    fn ahead(&self, lookahead: usize) -> usize {
        let under_way = match (self.synthesis, self.proving) {
            (Some(synthesis), Some(proving)) => {
                synthesis.as_micros().div_ceil(proving.as_micros().max(1))
            }
            (None, _) | (_, None) => 0,
        };
        let under_way = usize::try_from(under_way).unwrap_or(MAX_AHEAD_PER_DEVICE);
        lookahead
            .max(1)
            .saturating_add(under_way)
            .min(MAX_AHEAD_PER_DEVICE)
    }
}

const fn in_broker(bytes: u64) -> u64 {
    bytes / 100 * BROKER_COST_PERCENT + bytes % 100 * BROKER_COST_PERCENT / 100
}

/// Moves a learned duration towards a measurement.
fn learn(known: &mut Option<Duration>, measured: Option<Duration>) {
    if let Some(measured) = measured {
        *known = Some(match *known {
            None => measured,
            Some(before) => (before * (LEARNING - 1) + measured) / LEARNING,
        });
    }
}
