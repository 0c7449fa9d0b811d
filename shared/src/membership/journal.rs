//! What one attempt leaves behind: its timeline records, its spans, its events.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::EventEmitter;
use crate::protocol::{CircuitId, TaskKey, TraceContext, UnixMicros, WorkerEvent};
use crate::telemetry::spans::attributes;
use crate::telemetry::{SpanRecord, SpanSink, TimelineEvent, TimelineRecord, fields};

/// What every attempt of one worker shares.
#[derive(Debug)]
pub struct JournalContext {
    /// Events in this worker's name.
    pub emitter: EventEmitter,
    /// Where spans go.
    pub spans: SpanSink,
    /// The instant from which TIMELINE lines count.
    pub epoch: UnixMicros,
    /// `messaging.system` of spans that send or receive.
    pub messaging_system: &'static str,
    /// The device of a GPU worker, for records.
    pub device: Option<String>,
}

/// The journal of one attempt: records gather here until the next event carries them.
#[derive(Debug)]
pub struct AttemptJournal {
    context: Arc<JournalContext>,
    key: TaskKey,
    circuit: CircuitId,
    trace: TraceContext,
    timeline: Vec<TimelineRecord>,
    last: Option<TimelineEvent>,
}

impl AttemptJournal {
    /// Opens the journal of an attempt, with the trace context its assignment brought.
    #[must_use]
    pub const fn open(
        context: Arc<JournalContext>,
        key: TaskKey,
        circuit: CircuitId,
        trace: TraceContext,
    ) -> Self {
        Self {
            context,
            key,
            circuit,
            trace,
            timeline: Vec::new(),
            last: None,
        }
    }

    /// What every attempt of this worker shares.
    #[must_use]
    pub fn context(&self) -> &JournalContext {
        &self.context
    }

    /// The attempt.
    #[must_use]
    pub const fn key(&self) -> &TaskKey {
        &self.key
    }

    /// The trace context its assignment brought.
    #[must_use]
    pub const fn trace(&self) -> &TraceContext {
        &self.trace
    }

    /// The cluster's time now.
    #[must_use]
    pub fn now(&self) -> UnixMicros {
        self.context.emitter.now()
    }

    /// The event noted last.
    #[must_use]
    pub const fn last(&self) -> Option<TimelineEvent> {
        self.last
    }

    /// Notes that something happened at an instant, with numbers about it.
    pub fn note(&mut self, event: TimelineEvent, at: UnixMicros, facts: &[(&str, u64)]) {
        let mut record = self.record_of(event, at);
        for (key, value) in facts {
            record = record.field(key, value);
        }
        self.add(record);
    }

    /// Notes that the attempt failed at an instant, on the event in which it did.
    pub fn note_failure(&mut self, event: TimelineEvent, at: UnixMicros, code: &str) {
        let record = self.record_of(event, at).field(fields::ERROR, code);
        self.add(record);
    }

    fn record_of(&self, event: TimelineEvent, at: UnixMicros) -> TimelineRecord {
        let worker = self.context.emitter.worker();
        let record =
            TimelineRecord::of_task(event, at, &self.key, worker).field("circuit", &self.circuit);
        match &self.context.device {
            Some(device) => record.field("device", device),
            None => record,
        }
    }

    fn add(&mut self, record: TimelineRecord) {
        record.log(self.context.epoch);
        self.last = Some(record.event);
        self.timeline.push(record);
    }

    /// A span of this attempt, a child of the job's root; hand it to [`AttemptJournal::record`] when it is complete.
    #[must_use]
    pub fn span(&self, name: &'static str, start: UnixMicros, end: UnixMicros) -> SpanRecord {
        let span = SpanRecord::new(name, self.key.job, start, end)
            .remote_parent(self.trace.root())
            .task(&self.key)
            .attribute(attributes::WORKER, self.context.emitter.worker().as_str())
            .attribute(attributes::CIRCUIT, self.circuit.to_string());
        match &self.context.device {
            Some(device) => span.attribute(attributes::DEVICE, device.as_str()),
            None => span,
        }
    }

    /// Hands a span over for export.
    pub fn record(&self, span: SpanRecord) {
        self.context.spans.record(span);
    }

    /// Publishes an event with the records that no earlier event carried.
    pub async fn emit(&mut self, event: WorkerEvent) {
        let timeline = std::mem::take(&mut self.timeline);
        self.context.emitter.emit(self.key, event, timeline).await;
    }

    /// Publishes an event without waiting for it: a device must not idle behind a round trip.
    pub fn emit_aside(&mut self, event: WorkerEvent, runtime: &Handle) {
        let timeline = std::mem::take(&mut self.timeline);
        let (context, key) = (Arc::clone(&self.context), self.key);
        drop(runtime.spawn(async move { context.emitter.emit(key, event, timeline).await }));
    }
}
