//! A collector for tests: receives OTLP over gRPC on a free port and gives the spans back.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span, status::StatusCode};
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

use super::spans::{RemoteContext, SpanId};
use crate::protocol::{JobId, UnixMicros};

/// A running test collector; it ends when dropped. It has a runtime of its own, so that a test of any kind can hold it.
#[derive(Debug)]
pub struct TestReceiver {
    runtime: Option<Runtime>,
    store: Arc<Store>,
}

/// What arrived, whole.
#[derive(Debug)]
struct Store {
    received: Mutex<Vec<ResourceSpans>>,
    arrivals: watch::Sender<u64>,
}

/// One received span with the resource it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedSpan {
    /// Attributes of the resource, such as `service.name` and `host.id`, as text.
    pub resource: BTreeMap<String, String>,
    /// Name.
    pub name: String,
    /// Trace id; equals the job's id.
    pub trace_id: u128,
    /// Id of the span; `None` if what arrived is no valid id.
    pub span_id: Option<SpanId>,
    /// Parent, if it has one.
    pub parent: Option<SpanId>,
    /// Links.
    pub links: Vec<RemoteContext>,
    /// OTLP's number of the kind: 1 internal, 2 server, 3 client, 4 producer, 5 consumer.
    pub kind: i32,
    /// Start, cut to microseconds.
    pub start: UnixMicros,
    /// End, cut to microseconds.
    pub end: UnixMicros,
    /// Attributes as text.
    pub attributes: BTreeMap<String, String>,
    /// The reason, if it is an error.
    pub error: Option<String>,
}

/// The condition did not come true in time.
#[derive(Debug, thiserror::Error)]
#[error("within {limit:?} it did not come true that {condition}; {spans} spans arrived")]
pub struct NeverTrue {
    /// The condition as text.
    pub condition: String,
    /// How long it was waited for.
    pub limit: Duration,
    /// What had arrived by then.
    pub spans: usize,
}

impl TestReceiver {
    /// Starts a collector on a free port of loopback: its endpoint, and the handle that gives the spans back.
    ///
    /// # Errors
    /// The system's, if no port or thread is to be had.
    pub fn start() -> std::io::Result<(String, Self)> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("test-receiver")
            .enable_all()
            .build()?;
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let store = Arc::new(Store {
            received: Mutex::default(),
            arrivals: watch::channel(0).0,
        });
        let service = TraceServiceServer::new(Collector(Arc::clone(&store)));
        let guard = runtime.enter();
        let incoming = TcpListenerStream::new(TcpListener::from_std(listener)?);
        drop(guard);
        runtime.spawn(async move {
            let served = tonic::transport::Server::builder();
            if let Err(error) = served.serve_with_incoming(service, incoming).await {
                tracing::error!(%error, "test collector stopped");
            }
        });
        let receiver = Self {
            runtime: Some(runtime),
            store,
        };
        Ok((endpoint, receiver))
    }

    /// What arrived, as it arrived.
    #[must_use]
    pub fn resource_spans(&self) -> Vec<ResourceSpans> {
        self.store.received.lock().clone()
    }

    /// All spans that arrived.
    #[must_use]
    pub fn spans(&self) -> Vec<ReceivedSpan> {
        self.store.spans()
    }

    /// The spans of one job, by start.
    #[must_use]
    pub fn spans_of(&self, job: JobId) -> Vec<ReceivedSpan> {
        let mut spans = self.spans();
        spans.retain(|span| span.trace_id == job.trace_id());
        spans.sort_by_key(|span| (span.start, span.end));
        spans
    }

    /// Waits until the spans that arrived meet a condition, and gives them.
    ///
    /// # Errors
    /// [`NeverTrue`] after `limit`.
    pub async fn wait_until(
        &self,
        condition: &str,
        is_met: impl Fn(&[ReceivedSpan]) -> bool,
        limit: Duration,
    ) -> Result<Vec<ReceivedSpan>, NeverTrue> {
        let mut arrivals = self.store.arrivals.subscribe();
        let met = tokio::time::timeout(limit, async {
            loop {
                arrivals.borrow_and_update();
                let spans = self.spans();
                if is_met(&spans) {
                    return spans;
                }
                if arrivals.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        });
        met.await.map_err(|_| NeverTrue {
            condition: condition.to_owned(),
            limit,
            spans: self.spans().len(),
        })
    }

    /// As [`TestReceiver::wait_until`], for tests without a runtime of their own; it must not be called within one.
    ///
    /// # Errors
    /// [`NeverTrue`] after `limit`.
    ///
    /// # Panics
    /// If called within an asynchronous runtime.
    pub fn wait_until_blocking(
        &self,
        condition: &str,
        is_met: impl Fn(&[ReceivedSpan]) -> bool,
        limit: Duration,
    ) -> Result<Vec<ReceivedSpan>, NeverTrue> {
        let runtime = self
            .runtime
            .as_ref()
            .expect("the runtime is there until the drop");
        runtime.block_on(self.wait_until(condition, is_met, limit))
    }
}

impl Drop for TestReceiver {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

struct Collector(Arc<Store>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let arrived = request.into_inner().resource_spans;
        self.0.received.lock().extend(arrived);
        self.0.arrivals.send_modify(|arrivals| *arrivals += 1);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Store {
    fn spans(&self) -> Vec<ReceivedSpan> {
        let received = self.received.lock();
        let mut spans = Vec::new();
        for group in received.iter() {
            let attributes = group
                .resource
                .as_ref()
                .map(|resource| resource.attributes.as_slice());
            let resource = texts(attributes.unwrap_or_default());
            let scoped = group.scope_spans.iter().flat_map(|scope| &scope.spans);
            spans.extend(scoped.map(|span| ReceivedSpan::new(span, resource.clone())));
        }
        spans
    }
}

impl ReceivedSpan {
    fn new(span: &Span, resource: BTreeMap<String, String>) -> Self {
        let status = span.status.clone().unwrap_or_default();
        Self {
            resource,
            name: span.name.clone(),
            trace_id: trace_id(&span.trace_id),
            span_id: span_id(&span.span_id),
            parent: span_id(&span.parent_span_id),
            links: span
                .links
                .iter()
                .filter_map(|link| context(&link.trace_id, &link.span_id, link.flags))
                .collect(),
            kind: span.kind,
            start: UnixMicros(span.start_time_unix_nano / 1_000),
            end: UnixMicros(span.end_time_unix_nano / 1_000),
            attributes: texts(&span.attributes),
            error: (status.code == StatusCode::Error as i32).then_some(status.message),
        }
    }

    /// The service it came from.
    #[must_use]
    pub fn service(&self) -> &str {
        self.resource.get("service.name").map_or("", String::as_str)
    }
}

fn trace_id(bytes: &[u8]) -> u128 {
    bytes.try_into().map_or(0, u128::from_be_bytes)
}

fn span_id(bytes: &[u8]) -> Option<SpanId> {
    hex::encode(bytes).parse().ok()
}

fn context(trace: &[u8], span: &[u8], flags: u32) -> Option<RemoteContext> {
    Some(RemoteContext {
        trace_id: trace_id(trace),
        span_id: span_id(span)?,
        flags: flags.to_le_bytes()[0],
    })
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |pair: &KeyValue| {
        (
            pair.key.clone(),
            pair.value.as_ref().map_or_else(String::new, value_text),
        )
    };
    attributes.iter().map(text).collect()
}

fn value_text(value: &AnyValue) -> String {
    match &value.value {
        Some(any_value::Value::StringValue(text)) => text.clone(),
        Some(any_value::Value::BoolValue(claim)) => claim.to_string(),
        Some(any_value::Value::IntValue(number)) => number.to_string(),
        Some(any_value::Value::DoubleValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}
