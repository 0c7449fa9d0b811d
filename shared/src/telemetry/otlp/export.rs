//! The running exporters of a process.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opentelemetry_otlp::{WithExportConfig, WithTonicConfig};
use opentelemetry_sdk::trace::SpanExporter as _;
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tonic::transport::{Channel, Endpoint};

use super::batch::{BatchLoop, DropReporter};
use super::resource::{ServiceIdentity, resource};
use super::{OtlpSettings, TelemetryError};
use crate::telemetry::sink::{SpanCounts, SpanSink};

/// How long connecting to the collector may take; the exporter tries again with the next batch.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The runtime, the connection they share, and a loop for each service.
#[derive(Debug)]
pub(super) struct Export {
    runtime: Runtime,
    channel: Channel,
    stop: watch::Sender<bool>,
    sinks: Mutex<HashMap<ServiceIdentity, SpanSink>>,
    running: Mutex<Vec<std::sync::mpsc::Receiver<()>>>,
    reporter: DropReporter,
}

impl Export {
    pub(super) fn start(
        endpoint: &str,
        settings: &OtlpSettings,
        counts: &Arc<SpanCounts>,
    ) -> Result<Self, TelemetryError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("telemetry")
            .enable_all()
            .build()
            .map_err(TelemetryError::Runtime)?;
        // The channel's connection lives on this runtime.
        let guard = runtime.enter();
        let channel = connect_lazily(endpoint, settings.timeout)?;
        drop(guard);
        let reporter = DropReporter::new(endpoint.to_owned(), Arc::clone(counts));
        runtime.spawn(reporter.clone().run());
        Ok(Self {
            runtime,
            channel,
            stop: watch::channel(false).0,
            sinks: Mutex::default(),
            running: Mutex::default(),
            reporter,
        })
    }

    /// The sink of a service, which is opened when first asked for.
    pub(super) fn sink(
        &self,
        identity: ServiceIdentity,
        settings: &OtlpSettings,
        counts: &Arc<SpanCounts>,
    ) -> Result<SpanSink, TelemetryError> {
        let mut sinks = self.sinks.lock();
        if let Some(sink) = sinks.get(&identity) {
            return Ok(sink.clone());
        }
        let sink = self.open(&identity, settings, counts)?;
        sinks.insert(identity, sink.clone());
        Ok(sink)
    }

    /// Starts the export of one service.
    fn open(
        &self,
        identity: &ServiceIdentity,
        settings: &OtlpSettings,
        counts: &Arc<SpanCounts>,
    ) -> Result<SpanSink, TelemetryError> {
        let guard = self.runtime.enter();
        let mut exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_tonic()
            .with_channel(self.channel.clone())
            .with_timeout(settings.timeout)
            .build()?;
        drop(guard);
        exporter.set_resource(&resource(identity, settings));
        let (queue, spans) = mpsc::channel(settings.queue_spans);
        let (done, when_done) = std::sync::mpsc::channel();
        let batches = BatchLoop {
            exporter,
            spans,
            counts: Arc::clone(counts),
            reporter: self.reporter.clone(),
            stop: self.stop.subscribe(),
            batch_spans: settings.batch_spans,
            delay: settings.delay,
            export_limit: settings.timeout,
        };
        self.runtime.spawn(async move {
            batches.run().await;
            drop(done);
        });
        self.running.lock().push(when_done);
        Ok(SpanSink::feeding(queue, Arc::clone(counts)))
    }

    /// Ends all loops; false if the limit passed before.
    pub(super) fn finish(self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        self.stop.send_replace(true);
        let running = self.running.into_inner();
        let mut is_complete = true;
        for loop_end in running {
            let rest = deadline.saturating_duration_since(Instant::now());
            // The loop drops its end when it is done: disconnected means done.
            let waited = loop_end.recv_timeout(rest);
            is_complete &= waited == Err(std::sync::mpsc::RecvTimeoutError::Disconnected);
        }
        self.reporter.report();
        self.runtime.shutdown_background();
        is_complete
    }
}

fn connect_lazily(endpoint: &str, timeout: Duration) -> Result<Channel, TelemetryError> {
    let refuse = |reason: String| TelemetryError::Endpoint {
        endpoint: endpoint.to_owned(),
        reason,
    };
    if endpoint.starts_with("https:") {
        return Err(refuse(
            "this build has no TLS; send to a collector beside the process".into(),
        ));
    }
    let url = match endpoint.split_once("://") {
        Some(_) => endpoint.to_owned(),
        None => format!("http://{endpoint}"),
    };
    let endpoint = Endpoint::from_shared(url).map_err(|error| refuse(error.to_string()))?;
    let authority = endpoint.uri().authority();
    let Some(authority) = authority.filter(|authority| !authority.host().is_empty()) else {
        return Err(refuse("it names no host".into()));
    };
    if authority.port_u16() == Some(0) || has_unread_port(authority) {
        return Err(refuse("its port does not read".into()));
    }
    Ok(endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(timeout)
        .connect_lazy())
}

/// True if something that is no port number follows the host.
fn has_unread_port(authority: &tonic::codegen::http::uri::Authority) -> bool {
    let host_and_port = authority.as_str().rsplit('@').next().unwrap_or_default();
    host_and_port != authority.host() && authority.port_u16().is_none()
}
