//! A span record as the SDK's finished span: times, ids and links exactly as recorded.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{
    Link, SpanContext, SpanId as OtelSpanId, SpanKind as OtelSpanKind, Status, TraceFlags, TraceId,
    TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use crate::protocol::UnixMicros;
use crate::telemetry::spans::{AttributeValue, RemoteContext, SpanKind, SpanRecord, SpanStatus};

/// Name of the instrumentation, as exported.
const SCOPE: &str = "proofmill";

/// The scope of every span.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder(SCOPE)
        .with_version(env!("CARGO_PKG_VERSION"))
        .build()
}

/// Converts one span.
pub(super) fn span_data(span: SpanRecord, scope: &InstrumentationScope) -> SpanData {
    let mut links = SpanLinks::default();
    links.links = span.links.iter().map(link).collect();
    SpanData {
        span_context: SpanContext::new(
            TraceId::from(span.job.trace_id()),
            OtelSpanId::from(span.span_id.get()),
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        ),
        parent_span_id: span
            .parent
            .map_or(OtelSpanId::INVALID, |parent| OtelSpanId::from(parent.get())),
        parent_span_is_remote: span.is_parent_remote,
        span_kind: kind(span.kind),
        name: Cow::Borrowed(span.name),
        start_time: system_time(span.start),
        end_time: system_time(span.end),
        attributes: span.attributes.into_iter().map(attribute).collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links,
        status: status(span.status),
        instrumentation_scope: scope.clone(),
    }
}

fn link(remote: &RemoteContext) -> Link {
    let context = SpanContext::new(
        TraceId::from(remote.trace_id),
        OtelSpanId::from(remote.span_id.get()),
        TraceFlags::new(remote.flags),
        true,
        TraceState::default(),
    );
    Link::new(context, Vec::new(), 0)
}

const fn kind(kind: SpanKind) -> OtelSpanKind {
    match kind {
        SpanKind::Internal => OtelSpanKind::Internal,
        SpanKind::Server => OtelSpanKind::Server,
        SpanKind::Client => OtelSpanKind::Client,
        SpanKind::Producer => OtelSpanKind::Producer,
        SpanKind::Consumer => OtelSpanKind::Consumer,
    }
}

fn attribute((key, value): (&'static str, AttributeValue)) -> KeyValue {
    let value = match value {
        AttributeValue::Text(text) => Value::from(text),
        AttributeValue::Int(number) => Value::from(number),
        AttributeValue::Float(number) => Value::from(number),
        AttributeValue::Bool(claim) => Value::from(claim),
    };
    KeyValue::new(key, value)
}

fn status(status: SpanStatus) -> Status {
    match status {
        SpanStatus::Ok => Status::Ok,
        SpanStatus::Error(reason) => Status::error(reason),
    }
}

fn system_time(at: UnixMicros) -> SystemTime {
    let since = Duration::from_micros(at.0);
    SystemTime::UNIX_EPOCH
        .checked_add(since)
        .unwrap_or(SystemTime::UNIX_EPOCH)
}
