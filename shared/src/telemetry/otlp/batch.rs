//! From a service's queue to the collector, in batches; and the one warning that says what was lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opentelemetry_sdk::trace::SpanExporter;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior};

use super::convert;
use crate::telemetry::sink::SpanCounts;
use crate::telemetry::spans::SpanRecord;

/// At most one warning about lost spans in this time.
const WARN_EVERY: Duration = Duration::from_secs(10);

/// Exports one service's spans: a batch leaves when it is full, or when its first span has waited long enough.
pub(super) struct BatchLoop<E> {
    pub(super) exporter: E,
    pub(super) spans: mpsc::Receiver<SpanRecord>,
    pub(super) counts: Arc<SpanCounts>,
    pub(super) reporter: DropReporter,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) batch_spans: usize,
    pub(super) delay: Duration,
    pub(super) export_limit: Duration,
}

impl<E: SpanExporter> BatchLoop<E> {
    /// Runs until the queue is closed (by every sink gone, or by the stop signal) and empty.
    pub(super) async fn run(mut self) {
        let scope = convert::scope();
        let mut batch = Vec::with_capacity(self.batch_spans);
        while self.gather(&mut batch).await {
            let spans = batch.drain(..).map(|span| convert::span_data(span, &scope));
            self.export(spans.collect()).await;
        }
    }

    /// Fills a batch; false if there is nothing left and never will be.
    async fn gather(&mut self, batch: &mut Vec<SpanRecord>) -> bool {
        let mut is_stopping = *self.stop.borrow_and_update();
        if is_stopping {
            self.spans.close();
        }
        let mut leave_at = None;
        while batch.len() < self.batch_spans {
            let room = self.batch_spans - batch.len();
            let due = leave_at.unwrap_or_else(Instant::now);
            tokio::select! {
                received = self.spans.recv_many(batch, room) => {
                    if received == 0 {
                        break;
                    }
                    leave_at.get_or_insert_with(|| Instant::now() + self.delay);
                }
                // A sender that is gone means stop, too.
                _changed = self.stop.changed(), if !is_stopping => {
                    is_stopping = true;
                    self.spans.close();
                }
                () = tokio::time::sleep_until(due), if leave_at.is_some() => break,
            }
        }
        !batch.is_empty()
    }

    async fn export(&self, spans: Vec<opentelemetry_sdk::trace::SpanData>) {
        let count = spans.len();
        // The exporter keeps its own limit over its retries; this one holds whatever it does.
        let limit = self.export_limit.saturating_mul(2);
        let failure = match tokio::time::timeout(limit, self.exporter.export(spans)).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the collector does not answer".to_owned()),
        };
        match failure {
            None => self.counts.add_exported(count),
            Some(reason) => {
                self.counts.add_export_failed(count);
                self.reporter.note(reason);
            }
        }
    }
}

/// Says what was lost, at most once every ten seconds.
#[derive(Debug, Clone)]
pub(super) struct DropReporter {
    endpoint: Arc<str>,
    counts: Arc<SpanCounts>,
    reported: Arc<AtomicU64>,
    reason: Arc<Mutex<Option<String>>>,
}

impl DropReporter {
    pub(super) fn new(endpoint: String, counts: Arc<SpanCounts>) -> Self {
        Self {
            endpoint: endpoint.into(),
            counts,
            reported: Arc::default(),
            reason: Arc::default(),
        }
    }

    /// Keeps the last reason for the next warning.
    fn note(&self, reason: String) {
        *self.reason.lock() = Some(reason);
    }

    pub(super) async fn run(self) {
        let mut every = tokio::time::interval(WARN_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            self.report();
        }
    }

    /// Warns of what was dropped since the last warning, if anything was.
    pub(super) fn report(&self) {
        let total = self.counts.dropped();
        let dropped = total - self.reported.swap(total, Ordering::Relaxed).min(total);
        if dropped == 0 {
            return;
        }
        let reason = self.reason.lock().take();
        let reason = reason.as_deref().unwrap_or("queue full or closed");
        tracing::warn!(
            dropped,
            total,
            endpoint = %self.endpoint,
            reason,
            "spans lost, jobs are not affected"
        );
    }
}
