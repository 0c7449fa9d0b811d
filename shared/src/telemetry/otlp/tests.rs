use std::time::{Duration, Instant};

use super::*;
use crate::protocol::{JobId, TraceContext, UnixMicros};
use crate::telemetry::receiver::TestReceiver;
use crate::telemetry::spans::{RemoteContext, SpanId, SpanRecord, attributes, names};

const LIMIT: Duration = Duration::from_secs(20);
const START: UnixMicros = UnixMicros(1_700_000_000_123_456);

fn telemetry(endpoint: &str) -> Telemetry {
    Telemetry::start(TelemetryConfig {
        service_name: "proofmill-test".into(),
        instance_id: "test-1".into(),
        otlp: OtlpSettings::to_endpoint(endpoint),
    })
    .unwrap()
}

fn span(job: JobId, micros: u64) -> SpanRecord {
    SpanRecord::new(
        names::SYNTH,
        job,
        START,
        START.plus(Duration::from_micros(micros)),
    )
}

/// A port of loopback on which nobody listens.
fn absent_collector() -> String {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn one_job_in_two_services_is_one_trace_with_parents_links_hosts_and_exact_times() {
    let (endpoint, receiver) = TestReceiver::start().unwrap();
    let telemetry = telemetry(&endpoint);
    let job = JobId::generate();
    let root = SpanId::random();
    let synth = telemetry.sink_for("synth-worker", "synth-1");
    let gpu = telemetry.sink_for("gpu-worker", "gpu-1");
    let sent = span(job, 1_001)
        .remote_parent(Some(root))
        .attribute(attributes::BYTES, 77u64);
    let message = TraceContext::of_job(job, sent.span_id, root);
    let fetched = SpanRecord::new(
        names::HANDOFF_FETCH,
        job,
        sent.end,
        sent.end.plus(Duration::from_micros(7)),
    )
    .remote_parent(message.root())
    .link(message.sender())
    .error("chunk 3 is damaged");
    synth.record(sent.clone());
    gpu.record(fetched.clone());
    telemetry
        .sink()
        .record(SpanRecord::new(names::JOB_SUBMIT, job, START, START).id(root));
    assert!(telemetry.shutdown(LIMIT).is_complete);

    let spans = receiver
        .wait_until_blocking("three spans arrive", |spans| spans.len() == 3, LIMIT)
        .unwrap();
    assert!(spans.iter().all(|span| span.trace_id == job.trace_id()));
    let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let (got_sent, got_fetched, got_root) = (
        named(names::SYNTH),
        named(names::HANDOFF_FETCH),
        named(names::JOB_SUBMIT),
    );
    assert_eq!(
        (
            got_sent.service(),
            got_fetched.service(),
            got_root.service()
        ),
        ("synth-worker", "gpu-worker", "proofmill-test")
    );
    assert_eq!(got_fetched.resource["service.instance.id"], "gpu-1");
    for received in &spans {
        assert!(!received.resource["host.id"].is_empty());
        assert!(!received.resource["host.name"].is_empty());
        assert!(!received.resource["service.version"].is_empty());
    }
    assert_eq!((got_root.span_id, got_root.parent), (Some(root), None));
    assert_eq!(
        (got_sent.parent, got_fetched.parent),
        (Some(root), Some(root))
    );
    assert_eq!(
        got_fetched.links,
        [RemoteContext::of_job(job, sent.span_id)]
    );
    assert_eq!((got_sent.start, got_sent.end), (sent.start, sent.end));
    assert_eq!(
        (got_fetched.start, got_fetched.end),
        (fetched.start, fetched.end)
    );
    assert_eq!(got_sent.attributes[attributes::BYTES], "77");
    assert_eq!(
        (got_sent.error.as_deref(), got_fetched.error.as_deref()),
        (None, Some("chunk 3 is damaged"))
    );
}

#[test]
fn times_arrive_to_the_nanosecond_as_recorded() {
    let (endpoint, receiver) = TestReceiver::start().unwrap();
    let telemetry = telemetry(&endpoint);
    telemetry.sink().record(span(JobId::generate(), 1));
    assert!(telemetry.shutdown(LIMIT).is_complete);
    let received = receiver.resource_spans();
    let span = &received[0].scope_spans[0].spans[0];
    assert_eq!(span.start_time_unix_nano, 1_700_000_000_123_456_000);
    assert_eq!(span.end_time_unix_nano, 1_700_000_000_123_457_000);
}

#[test]
fn two_hundred_short_lived_services_lose_nothing() {
    let (endpoint, receiver) = TestReceiver::start().unwrap();
    let telemetry = telemetry(&endpoint);
    let jobs: Vec<JobId> = (0..200).map(|_| JobId::generate()).collect();
    for (index, job) in jobs.iter().enumerate() {
        let sink = telemetry.sink_for("short-lived", &format!("instance-{index}"));
        sink.record(span(*job, 5));
        sink.record(span(*job, 6));
    }
    let report = telemetry.shutdown(LIMIT);
    assert_eq!(
        report,
        ShutdownReport {
            exported: 400,
            dropped: 0,
            is_complete: true
        }
    );
    for job in jobs {
        assert_eq!(receiver.spans_of(job).len(), 2);
    }
}

#[test]
fn two_hundred_telemetries_started_and_ended_lose_nothing() {
    let (endpoint, receiver) = TestReceiver::start().unwrap();
    for _ in 0..200 {
        let telemetry = telemetry(&endpoint);
        telemetry.sink().record(span(JobId::generate(), 5));
        assert!(telemetry.shutdown(LIMIT).is_complete);
    }
    assert_eq!(receiver.spans().len(), 200);
}

#[test]
fn a_dropped_telemetry_delivers_too_even_within_a_runtime() {
    let (endpoint, receiver) = TestReceiver::start().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let telemetry = telemetry(&endpoint);
        telemetry.sink().record(span(JobId::generate(), 5));
        drop(telemetry);
    });
    assert_eq!(receiver.spans().len(), 1);
}

#[test]
fn an_absent_collector_costs_counted_drops_and_nothing_else() {
    let mut settings = OtlpSettings::to_endpoint(absent_collector());
    settings.queue_spans = 1_000;
    let telemetry = Telemetry::start(TelemetryConfig {
        service_name: "proofmill-test".into(),
        instance_id: "test-1".into(),
        otlp: settings,
    })
    .unwrap();
    let sink = telemetry.sink();
    let job = JobId::generate();
    let begun = Instant::now();
    for _ in 0..20_000 {
        sink.record(span(job, 5));
    }
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "20,000 spans took {:?}",
        begun.elapsed()
    );
    assert!(telemetry.counts().dropped_full() > 0);
    let limit = Duration::from_secs(1);
    let ending = Instant::now();
    let report = telemetry.shutdown(limit);
    assert!(ending.elapsed() < limit + Duration::from_secs(1));
    assert_eq!((report.exported, report.dropped), (0, 20_000));
    sink.record(span(job, 5));
}

#[test]
fn a_malformed_traceparent_gives_no_link_and_the_span_arrives() {
    let (endpoint, receiver) = TestReceiver::start().unwrap();
    let telemetry = telemetry(&endpoint);
    let message = TraceContext {
        traceparent: Some("00-zz-11-01".into()),
        root_span: Some("not hex".into()),
    };
    let record = span(JobId::generate(), 5)
        .link(message.sender())
        .remote_parent(message.root());
    telemetry.sink().record(record);
    assert!(telemetry.shutdown(LIMIT).is_complete);
    let spans = receiver.spans();
    assert_eq!(
        (spans.len(), spans[0].links.len(), spans[0].parent),
        (1, 0, None)
    );
}

#[test]
fn spans_arrive_while_the_process_lives() {
    let (endpoint, receiver) = TestReceiver::start().unwrap();
    let telemetry = telemetry(&endpoint);
    telemetry.sink().record(span(JobId::generate(), 5));
    receiver
        .wait_until_blocking("the span arrives", |spans| spans.len() == 1, LIMIT)
        .unwrap();
    assert!(telemetry.shutdown(LIMIT).is_complete);
}

#[test]
fn without_an_endpoint_telemetry_is_off() {
    let config = TelemetryConfig {
        service_name: "proofmill-test".into(),
        instance_id: "test-1".into(),
        otlp: OtlpSettings::off(),
    };
    let telemetry = Telemetry::start(config).unwrap();
    assert!(!telemetry.is_enabled() && !telemetry.sink_for("a", "b").is_enabled());
    assert!(telemetry.shutdown(LIMIT).is_complete);
}

#[test]
fn an_endpoint_that_does_not_read_is_refused_with_advice() {
    for endpoint in [
        "https://collector:4317",
        "http://",
        "not a url",
        "http://host:port",
    ] {
        let config = TelemetryConfig {
            service_name: "proofmill-test".into(),
            instance_id: "test-1".into(),
            otlp: OtlpSettings::to_endpoint(endpoint),
        };
        let refused = Telemetry::start(config).unwrap_err();
        assert!(
            refused.to_string().contains("http://localhost:4317"),
            "{refused}"
        );
    }
}
