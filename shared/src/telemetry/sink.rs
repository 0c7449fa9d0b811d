//! Where finished spans go: never blocks, counts what it drops.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::spans::SpanRecord;

/// Takes finished spans for export. Cheap to clone; every clone feeds the same queue.
///
/// Recording never blocks and never fails: a span that finds the queue full is dropped and counted.
#[derive(Debug, Clone)]
pub struct SpanSink {
    queue: Option<mpsc::Sender<SpanRecord>>,
    counts: Arc<SpanCounts>,
}

/// What became of spans, over all sinks that share it.
#[derive(Debug, Default)]
pub struct SpanCounts {
    recorded: AtomicU64,
    exported: AtomicU64,
    dropped_full: AtomicU64,
    dropped_closed: AtomicU64,
    dropped_export: AtomicU64,
    mended: AtomicU64,
}

impl SpanSink {
    /// A sink that forgets everything: export is off.
    #[must_use]
    pub fn disabled() -> Self {
        Self {
            queue: None,
            counts: Arc::default(),
        }
    }

    /// A sink that feeds a queue.
    pub(super) fn feeding(queue: mpsc::Sender<SpanRecord>, counts: Arc<SpanCounts>) -> Self {
        Self {
            queue: Some(queue),
            counts,
        }
    }

    /// A sink whose spans are read back from the receiver; for tests of what a part records.
    #[must_use]
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<SpanRecord>) {
        let (queue, receiver) = mpsc::channel(capacity);
        (Self::feeding(queue, Arc::default()), receiver)
    }

    /// Hands a span over.
    pub fn record(&self, span: SpanRecord) {
        if span.is_mended() {
            SpanCounts::add(&self.counts.mended, 1);
        }
        let Some(queue) = &self.queue else { return };
        let counter = match queue.try_send(span) {
            Ok(()) => &self.counts.recorded,
            Err(TrySendError::Full(_)) => &self.counts.dropped_full,
            Err(TrySendError::Closed(_)) => &self.counts.dropped_closed,
        };
        SpanCounts::add(counter, 1);
    }

    /// False if export is off, so that whoever gathers costly attributes can leave it.
    #[must_use]
    pub const fn is_enabled(&self) -> bool {
        self.queue.is_some()
    }

    /// What became of the spans so far.
    #[must_use]
    pub fn counts(&self) -> &SpanCounts {
        &self.counts
    }
}

impl SpanCounts {
    fn add(counter: &AtomicU64, by: u64) {
        counter.fetch_add(by, Ordering::Relaxed);
    }

    pub(super) fn add_exported(&self, spans: usize) {
        Self::add(&self.exported, spans as u64);
    }

    pub(super) fn add_export_failed(&self, spans: usize) {
        Self::add(&self.dropped_export, spans as u64);
    }

    /// Spans taken into a queue.
    #[must_use]
    pub fn recorded(&self) -> u64 {
        self.recorded.load(Ordering::Relaxed)
    }

    /// Spans a collector accepted.
    #[must_use]
    pub fn exported(&self) -> u64 {
        self.exported.load(Ordering::Relaxed)
    }

    /// Spans dropped because the queue was full.
    #[must_use]
    pub fn dropped_full(&self) -> u64 {
        self.dropped_full.load(Ordering::Relaxed)
    }

    /// Spans dropped because no collector accepted them.
    #[must_use]
    pub fn dropped_export(&self) -> u64 {
        self.dropped_export.load(Ordering::Relaxed)
    }

    /// Spans dropped for any reason.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped_full() + self.dropped_export() + self.dropped_closed.load(Ordering::Relaxed)
    }

    /// Spans in queues, neither accepted nor dropped yet.
    #[must_use]
    pub fn undelivered(&self) -> u64 {
        self.recorded()
            .saturating_sub(self.exported() + self.dropped_export())
    }

    /// Spans whose order had to be mended (see [`SpanRecord::not_before`]).
    #[must_use]
    pub fn mended(&self) -> u64 {
        self.mended.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{JobId, UnixMicros};

    fn span() -> SpanRecord {
        SpanRecord::new("synth", JobId::generate(), UnixMicros(1), UnixMicros(2))
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let (sink, mut receiver) = SpanSink::channel(2);
        for _ in 0..5 {
            sink.clone().record(span());
        }
        assert_eq!(
            (sink.counts().recorded(), sink.counts().dropped_full()),
            (2, 3)
        );
        assert!(receiver.try_recv().is_ok());
        drop(receiver);
        sink.record(span());
        assert_eq!(sink.counts().dropped(), 4);
    }

    #[test]
    fn a_disabled_sink_forgets() {
        let sink = SpanSink::disabled();
        sink.record(span());
        assert!(!sink.is_enabled());
        assert_eq!(sink.counts().dropped(), 0);
    }

    #[test]
    fn mended_spans_are_counted() {
        let (sink, _receiver) = SpanSink::channel(2);
        sink.record(span().not_before(UnixMicros(5)));
        sink.record(span());
        assert_eq!(sink.counts().mended(), 1);
    }
}
