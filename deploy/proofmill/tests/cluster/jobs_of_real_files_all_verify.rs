//! Files proved by one coordinator, three synth workers and two GPU workers: proofs verify against the key, digests are
//! those of the files, and each job is one trace over three services, in causal order, with its links.

use proofmill_shared::telemetry::receiver::{ReceivedSpan, TestReceiver};

use crate::harness::{Cluster, PROCESS_LIMIT, files, tier, wait_until};

/// Spans that every proved job has, with the service that writes them.
const EXPECTED: [(&str, &str); 12] = [
    ("job.submit", "coordinator"),
    ("synth.wait", "coordinator"),
    ("synth", "synth-worker"),
    ("synth.witness", "synth-worker"),
    ("handoff.send", "synth-worker"),
    ("handoff.fetch", "gpu-worker"),
    ("gpu.wait", "gpu-worker"),
    ("gpu.prove", "gpu-worker"),
    ("gpu.msm.h", "gpu-worker"),
    ("proof.verify", "gpu-worker"),
    ("job.finish", "coordinator"),
    ("job", "coordinator"),
];

#[test]
fn jobs_of_real_files_all_verify() {
    let (endpoint, receiver) = TestReceiver::start().expect("a test collector");
    let cluster = Cluster::new(Some(endpoint));
    let _coordinator = cluster.start_coordinator("coordinator");
    let _synth = ["synth-0", "synth-1", "synth-2"].map(|id| cluster.start("synth-worker", id));
    let _gpu = ["gpu-0", "gpu-1"].map(|id| cluster.start("gpu-worker", id));
    cluster.wait_for_workers(5);
    let files = files(tier(6, 50));
    let jobs: Vec<String> = files
        .iter()
        .map(|file| cluster.submit("sha256", file.clone()))
        .collect();
    for (job, file) in jobs.iter().zip(&files) {
        cluster.assert_proved(job, file);
    }
    for job in &jobs {
        let id = job.parse().expect("a job id");
        let trace = wait_until(
            &format!("the trace of job {job} is whole"),
            PROCESS_LIMIT,
            || {
                let spans = receiver.spans_of(id);
                EXPECTED
                    .iter()
                    .all(|(name, _)| spans.iter().any(|span| span.name == *name))
                    .then_some(spans)
            },
        );
        check_trace(&trace);
    }
}

fn check_trace(trace: &[ReceivedSpan]) {
    let all = |name: &str| {
        trace
            .iter()
            .filter(move |span| span.name == name)
            .collect::<Vec<_>>()
    };
    let first = |name: &str| all(name)[0];
    for (name, service) in EXPECTED {
        for span in all(name) {
            assert!(
                span.service().ends_with(service),
                "{name} comes from {}",
                span.service()
            );
            assert!(
                span.resource.contains_key("host.id"),
                "{name} names no host"
            );
        }
    }
    let root = first("job.submit");
    assert_eq!(root.parent, None);
    for name in [
        "synth.wait",
        "synth",
        "handoff.send",
        "handoff.fetch",
        "gpu.prove",
        "proof.verify",
        "job.finish",
        "job",
    ] {
        for span in all(name) {
            assert_eq!(
                span.parent, root.span_id,
                "{name} is not a child of the root"
            );
        }
    }
    let prove = first("gpu.prove");
    assert!(
        all("gpu.msm.h")
            .iter()
            .any(|msm| msm.parent == prove.span_id)
    );

    // Every handoff is a link: the assignment to the synthesis, the send to the fetch.
    let is_linked = |from: &ReceivedSpan, to: &str| {
        let ids: Vec<_> = all(to).iter().filter_map(|span| span.span_id).collect();
        from.links.iter().any(|link| ids.contains(&link.span_id))
    };
    for fetch in all("handoff.fetch") {
        assert!(is_linked(fetch, "handoff.send"), "{:?}", fetch.links);
    }
    assert!(all("synth").iter().all(|synth| !synth.links.is_empty()));
    assert!(all("gpu.prove").iter().all(|prove| !prove.links.is_empty()));

    // Causes before effects, on one clock.
    let synth = all("synth")
        .into_iter()
        .min_by_key(|span| span.start)
        .expect("a synth span");
    for (earlier, later) in [
        (root.start, synth.start),
        (first("handoff.send").start, first("handoff.fetch").end),
        (first("handoff.fetch").end, prove.start),
        (prove.end, first("proof.verify").start),
        (first("proof.verify").end, first("job.finish").start),
    ] {
        assert!(earlier <= later, "{trace:#?}");
    }
}
