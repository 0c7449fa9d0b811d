//! The standard `OTEL_*` variables, read in one place.

use std::time::Duration;

/// Queue of each service: at some 20 spans a partition it holds 1,600 partitions, far more than finish between two
/// exports; the SDK's 2,048 would drop spans in a burst.
const DEFAULT_QUEUE_SPANS: usize = 32_768;
/// Spans of one export, as the specification has it.
const DEFAULT_BATCH_SPANS: usize = 512;
/// Longest a span waits for others: short, so that a running job can be watched.
const DEFAULT_DELAY: Duration = Duration::from_secs(1);
/// Longest one export may take, as the specification has it.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest number accepted from a variable: beyond it is a typing error.
const MAX_NUMBER: u64 = 10_000_000;

/// Where to export to, and how. Headers and compression are read by the exporter itself, from
/// `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_EXPORTER_OTLP_COMPRESSION` (and their `…_TRACES_…` forms).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpSettings {
    /// The collector, such as `http://localhost:4317`; `None` switches export off.
    pub endpoint: Option<String>,
    /// Overrides the process's service name.
    pub service_name: Option<String>,
    /// Further facts about the process.
    pub resource_attributes: Vec<(String, String)>,
    /// Longest one export may take, retries included.
    pub timeout: Duration,
    /// Spans queued per service before some are dropped.
    pub queue_spans: usize,
    /// Spans of one export.
    pub batch_spans: usize,
    /// Longest a span waits for others.
    pub delay: Duration,
}

impl OtlpSettings {
    /// Export switched off.
    #[must_use]
    pub fn off() -> Self {
        Self::from_lookup(|_| None)
    }

    /// Export to a collector, all else by default.
    #[must_use]
    pub fn to_endpoint(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: Some(endpoint.into()),
            ..Self::off()
        }
    }

    /// Settings of the environment.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "the OTEL_* variables are the standard's, not this program's configuration; read here only"
    )]
    pub fn from_env() -> Self {
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    /// Settings of any source. An empty variable counts as absent, and one that does not read is warned of and left, as
    /// the specification asks.
    #[must_use]
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| {
            lookup(name)
                .map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty())
        };
        let either = |specific: &str, general: &str| text(specific).or_else(|| text(general));
        let number =
            |name: &str, value: Option<String>| value.and_then(|value| read_number(name, &value));
        let millis =
            |name: &str, value: Option<String>| number(name, value).map(Duration::from_millis);

        let is_off = text("OTEL_SDK_DISABLED")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || text("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        let endpoint = either(
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
        );
        let timeout = either(
            "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
            "OTEL_EXPORTER_OTLP_TIMEOUT",
        );
        let queue = "OTEL_BSP_MAX_QUEUE_SIZE";
        let batch = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE";
        let delay = "OTEL_BSP_SCHEDULE_DELAY";
        let size =
            |name: &str| number(name, text(name)).and_then(|size| usize::try_from(size).ok());

        let queue_spans = size(queue).unwrap_or(DEFAULT_QUEUE_SPANS);
        let attributes = text("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let mut resource_attributes = read_attributes(&attributes);
        let named = resource_attributes
            .iter()
            .position(|(key, _)| key == "service.name");
        let named = named.map(|at| resource_attributes.remove(at).1);
        Self {
            endpoint: endpoint.filter(|_| !is_off),
            service_name: text("OTEL_SERVICE_NAME").or(named),
            resource_attributes,
            timeout: millis("OTEL_EXPORTER_OTLP_TIMEOUT", timeout).unwrap_or(DEFAULT_TIMEOUT),
            queue_spans,
            batch_spans: size(batch).unwrap_or(DEFAULT_BATCH_SPANS).min(queue_spans),
            delay: millis(delay, text(delay)).unwrap_or(DEFAULT_DELAY),
        }
    }
}

fn read_number(name: &str, value: &str) -> Option<u64> {
    let number = value
        .parse()
        .ok()
        .filter(|number| (1..=MAX_NUMBER).contains(number));
    if number.is_none() {
        tracing::warn!(
            name,
            value,
            "variable is no number between 1 and {MAX_NUMBER}, default used"
        );
    }
    number
}

/// Reads `key=value,key=value`, values percent-encoded; a part that does not read is warned of and left.
fn read_attributes(text: &str) -> Vec<(String, String)> {
    let parts = text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts
        .filter_map(|part| {
            let read = part.split_once('=').and_then(|(key, value)| {
                let key = key.trim();
                let value = percent_decoded(value.trim())?;
                (!key.is_empty()).then(|| (key.to_owned(), value))
            });
            if read.is_none() {
                tracing::warn!(
                    part,
                    "part of OTEL_RESOURCE_ATTRIBUTES is no key=value, left out"
                );
            }
            read
        })
        .collect()
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = rest.get(..2)?;
        bytes.extend(hex::decode(digits).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> OtlpSettings {
        OtlpSettings::from_lookup(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn export_is_off_unless_an_endpoint_is_set() {
        assert_eq!(settings(&[]).endpoint, None);
        assert_eq!(
            settings(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]).endpoint,
            None
        );
        let on = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4317");
        assert_eq!(settings(&[on]).endpoint.as_deref(), Some("http://a:4317"));
        let specific = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b:4317");
        assert_eq!(
            settings(&[on, specific]).endpoint.as_deref(),
            Some("http://b:4317")
        );
        assert_eq!(
            settings(&[on, ("OTEL_SDK_DISABLED", "true")]).endpoint,
            None
        );
        assert_eq!(
            settings(&[on, ("OTEL_TRACES_EXPORTER", "none")]).endpoint,
            None
        );
    }

    #[test]
    fn names_and_resource_attributes_are_read() {
        let read = settings(&[(
            "OTEL_RESOURCE_ATTRIBUTES",
            "deployment.environment=lab%2C%20one, service.name=mill,broken,=x",
        )]);
        assert_eq!(
            read.resource_attributes,
            [("deployment.environment".into(), "lab, one".into())]
        );
        assert_eq!(read.service_name.as_deref(), Some("mill"));
        let named = settings(&[
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=mill"),
            ("OTEL_SERVICE_NAME", "other"),
        ]);
        assert_eq!(named.service_name.as_deref(), Some("other"));
    }

    #[test]
    fn batch_settings_are_read_and_bad_ones_left() {
        let read = settings(&[
            ("OTEL_BSP_MAX_QUEUE_SIZE", "100"),
            ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "500"),
            ("OTEL_BSP_SCHEDULE_DELAY", "soon"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
        ]);
        assert_eq!((read.queue_spans, read.batch_spans), (100, 100));
        assert_eq!(read.delay, DEFAULT_DELAY);
        assert_eq!(read.timeout, Duration::from_millis(2500));
        assert_eq!(
            settings(&[("OTEL_BSP_MAX_QUEUE_SIZE", "0")]).queue_spans,
            DEFAULT_QUEUE_SPANS
        );
    }
}
