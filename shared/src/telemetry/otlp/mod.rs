//! Export of spans over OTLP (gRPC), on a runtime of its own.
//!
//! *Layout*: `settings` (the standard `OTEL_*` variables, read once), `resource` (who the spans come from), `convert`
//! (a [`super::SpanRecord`] as the SDK's span), `batch` (queue to collector), `export` (the running exporters).
//!
//! Telemetry never decides about a job: a collector that is slow or absent costs a counted drop and one warning every
//! ten seconds, nothing else.

mod batch;
mod convert;
mod export;
mod resource;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use self::export::Export;
use self::resource::ServiceIdentity;
pub use self::settings::OtlpSettings;
use super::sink::{SpanCounts, SpanSink};

/// How long a process waits for its spans to leave at the end.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// How long a dropped [`Telemetry`] tries to deliver what is queued; [`Telemetry::shutdown`] takes its own limit.
const DROP_LIMIT: Duration = Duration::from_secs(2);
/// Why telemetry cannot start.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The collector's address does not read.
    #[error(
        "otlp endpoint {endpoint:?} cannot be used ({reason}): expected one such as http://localhost:4317"
    )]
    Endpoint {
        /// What was configured.
        endpoint: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The exporter refuses its settings.
    #[error("otlp exporter cannot be built: check the OTEL_EXPORTER_OTLP_* variables")]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
    /// The runtime's thread cannot be started.
    #[error("telemetry's runtime cannot start")]
    Runtime(#[source] std::io::Error),
}

/// What to export, and as whom.
#[derive(Debug, Clone)]
pub struct TelemetryConfig {
    /// Service name of this process, such as `proofmill-coordinator`; `OTEL_SERVICE_NAME` overrides it.
    pub service_name: String,
    /// Instance of the service, such as a worker id.
    pub instance_id: String,
    /// Where to export to, and how.
    pub otlp: OtlpSettings,
}

impl TelemetryConfig {
    /// A process as it names itself, with settings from the standard `OTEL_*` variables.
    #[must_use]
    pub fn from_env(service_name: impl Into<String>, instance_id: impl Into<String>) -> Self {
        Self {
            service_name: service_name.into(),
            instance_id: instance_id.into(),
            otlp: OtlpSettings::from_env(),
        }
    }
}

/// The process's exporter of spans. Off (and free) unless an OTLP endpoint is configured.
///
/// It owns a runtime: start it before, and shut it down after, the runtimes of the actors.
#[derive(Debug)]
pub struct Telemetry {
    config: TelemetryConfig,
    counts: Arc<SpanCounts>,
    export: Option<Export>,
}

/// What telemetry did in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownReport {
    /// Spans a collector accepted.
    pub exported: u64,
    /// Spans lost.
    pub dropped: u64,
    /// False if the limit passed before everything was delivered.
    pub is_complete: bool,
}

impl Telemetry {
    /// Starts exporting, if an endpoint is configured.
    ///
    /// # Errors
    /// [`TelemetryError`], if what is configured cannot be used; a collector that does not answer is no error.
    pub fn start(config: TelemetryConfig) -> Result<Self, TelemetryError> {
        let counts = Arc::new(SpanCounts::default());
        let export = match config.otlp.endpoint.clone() {
            Some(endpoint) => Some(Export::start(&endpoint, &config.otlp, &counts)?),
            None => None,
        };
        let telemetry = Self {
            config,
            counts,
            export,
        };
        let (name, instance) = telemetry.own_identity();
        telemetry.try_sink(name, instance)?;
        Ok(telemetry)
    }

    /// Telemetry that is off.
    #[must_use]
    pub fn disabled() -> Self {
        Self {
            config: TelemetryConfig {
                service_name: String::new(),
                instance_id: String::new(),
                otlp: OtlpSettings::off(),
            },
            counts: Arc::default(),
            export: None,
        }
    }

    /// The sink of this process under its own service name.
    #[must_use]
    pub fn sink(&self) -> SpanSink {
        let (name, instance) = self.own_identity();
        self.sink_or_disabled(name, instance)
    }

    /// The sink of one of several services within this process, which then appear as different services. With
    /// `OTEL_SERVICE_NAME` set, that name and a hyphen come before `service_name`.
    #[must_use]
    pub fn sink_for(&self, service_name: &str, instance_id: &str) -> SpanSink {
        let name = match &self.config.otlp.service_name {
            Some(prefix) => format!("{prefix}-{service_name}"),
            None => service_name.to_owned(),
        };
        self.sink_or_disabled(name, instance_id.to_owned())
    }

    /// True if spans are exported.
    #[must_use]
    pub const fn is_enabled(&self) -> bool {
        self.export.is_some()
    }

    /// What became of the spans of all sinks.
    #[must_use]
    pub fn counts(&self) -> &SpanCounts {
        &self.counts
    }

    /// Shuts down within five seconds and logs what was lost: the end of every process, from plain `main`.
    pub fn close(self) {
        let report = self.shutdown(CLOSE_LIMIT);
        if report.dropped > 0 || !report.is_complete {
            let ShutdownReport {
                exported,
                dropped,
                is_complete,
            } = report;
            tracing::warn!(exported, dropped, is_complete, "spans were lost");
        }
    }

    /// Delivers everything queued, within `limit`, and ends. Call it from plain `main`, after the actors' runtimes have
    /// ended; spans recorded later are dropped and counted.
    #[must_use = "the report says whether anything was lost"]
    pub fn shutdown(mut self, limit: Duration) -> ShutdownReport {
        self.finish(limit)
    }

    fn finish(&mut self, limit: Duration) -> ShutdownReport {
        let is_complete = self.export.take().is_none_or(|export| export.finish(limit));
        ShutdownReport {
            exported: self.counts.exported(),
            dropped: self.counts.dropped() + self.counts.undelivered(),
            is_complete,
        }
    }

    fn own_identity(&self) -> (String, String) {
        let name = self.config.otlp.service_name.as_ref();
        let name = name.unwrap_or(&self.config.service_name).clone();
        (name, self.config.instance_id.clone())
    }

    fn sink_or_disabled(&self, name: String, instance: String) -> SpanSink {
        self.try_sink(name, instance).unwrap_or_else(|error| {
            tracing::warn!(%error, "spans of one service are not exported");
            SpanSink::disabled()
        })
    }

    fn try_sink(&self, name: String, instance: String) -> Result<SpanSink, TelemetryError> {
        let Some(export) = &self.export else {
            return Ok(SpanSink::disabled());
        };
        let identity = ServiceIdentity {
            service_name: name,
            instance_id: instance,
        };
        export.sink(identity, &self.config.otlp, &self.counts)
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.finish(DROP_LIMIT);
    }
}

#[cfg(test)]
mod tests;
