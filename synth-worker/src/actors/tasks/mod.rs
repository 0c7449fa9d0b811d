//! What a slot does: plan, synthesize and ship, finish.
//!
//! *Layout*: `plan`, `synthesize`, `shipping` (the second half of a synthesis), `finish`; `error` (why a task did not
//! reach its effect).

mod error;
mod finish;
mod plan;
mod shipping;
mod synthesize;

use bytes::Bytes;
use proofmill_shared::broker::{BrokerError, BrokerHandle, ResultWrite};
use proofmill_shared::membership::{AttemptJournal, CancelFlag, Ticket};
use proofmill_shared::protocol::{UnixMicros, WorkerEvent};
use proofmill_shared::telemetry::spans::{attributes, names};
use proofmill_shared::telemetry::{SpanId, SpanRecord, TimelineEvent};
use tokio::runtime::Handle;

pub(crate) use self::error::TaskError;
pub(super) use self::finish::finish;
pub(super) use self::plan::plan;
pub(super) use self::synthesize::synthesize;
use super::patience::patiently;
use crate::handoff::Handoff;

/// Where and since when a started task runs.
pub(crate) struct Scene<'a> {
    /// Drives broker calls; the slot's thread waits for them.
    pub(crate) runtime: &'a Handle,
    pub(crate) ticket: &'a Ticket,
    pub(crate) cancel: CancelFlag,
    /// SYNTH_START.
    pub(crate) started: UnixMicros,
    /// What travels.
    pub(crate) handoff: &'a Handoff,
    /// Id of the task's `synth` span, known to its parts before it is written.
    pub(crate) span: SpanId,
}

impl Scene<'_> {
    /// Counts a step, and stops a task that nobody wants.
    pub(crate) fn check_wanted(&self) -> Result<(), TaskError> {
        self.ticket.advance();
        if self.cancel.is_raised() {
            return Err(TaskError::Cancelled);
        }
        Ok(())
    }

    /// Makes a broker call, again while it fails in passing.
    fn call<T>(
        &self,
        journal: &AttemptJournal,
        call: impl AsyncFn(&BrokerHandle) -> Result<T, BrokerError>,
    ) -> Result<T, TaskError> {
        let broker = journal.context().emitter.broker();
        let answer = patiently(&self.cancel, async || call(broker).await);
        Ok(self.runtime.block_on(answer)?)
    }

    /// Stores a unit's result, then says so.
    fn store(&self, journal: &mut AttemptJournal, result: Vec<u8>) -> Result<(), TaskError> {
        let (key, result) = (*journal.key(), Bytes::from(result));
        let store = async |broker: &BrokerHandle| broker.store_result(&key, result.clone()).await;
        match self.call(journal, store)? {
            ResultWrite::Stored | ResultWrite::AlreadyStored => {
                self.runtime.block_on(journal.emit(WorkerEvent::Stored));
                Ok(())
            }
            ResultWrite::Stale { .. } => Err(TaskError::Stale),
        }
    }

    /// Notes SYNTH_END and records the `synth` span.
    fn note_end(&self, journal: &mut AttemptJournal, at: UnixMicros, facts: &[(&str, u64)]) {
        journal.note(TimelineEvent::SynthEnd, at, facts);
        journal.record(self.synth_span(journal, at));
    }

    fn synth_span(&self, journal: &AttemptJournal, end: UnixMicros) -> SpanRecord {
        journal
            .span(names::SYNTH, self.started, end)
            .id(self.span)
            .link(journal.trace().sender())
    }

    /// A part of the `synth` span.
    fn part(
        &self,
        journal: &AttemptJournal,
        name: &'static str,
        start: UnixMicros,
        end: UnixMicros,
    ) -> SpanRecord {
        journal.span(name, start, end).parent(self.span)
    }

    /// Notes in timeline and trace how far a task came that failed.
    pub(crate) fn record_failure(&self, error: &TaskError, journal: &mut AttemptJournal) {
        if matches!(error, TaskError::Cancelled | TaskError::Stale) {
            return;
        }
        let (now, failure) = (journal.now(), error.failure());
        let event = match journal.last() {
            // It never came to an end of its own.
            Some(TimelineEvent::SynthStart) | None => {
                let span = self.synth_span(journal, now).error(failure.message);
                journal.record(span.attribute(attributes::CODE, failure.code.as_str()));
                TimelineEvent::SynthEnd
            }
            Some(last) => last,
        };
        journal.note_failure(event, now, &failure.code);
    }
}
