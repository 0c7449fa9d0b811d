//! A GPU worker on a machine of its own: no shape, no key, and no matrices ever; what it lacks comes from the coordinator,
//! and every witness is sealed on its way.

use proofmill_shared::telemetry::receiver::TestReceiver;

use crate::harness::{Cluster, PROCESS_LIMIT, files, wait_until};

const CLUSTER_KEY: &str = "6b6579206f662074686520636c7573746572206f662074686973207465737421";

#[test]
fn a_bare_gpu_worker_proves() {
    let (endpoint, receiver) = TestReceiver::start().expect("a test collector");
    let cluster = Cluster::new(Some(endpoint))
        .with("PROOFMILL_BROKER__CLUSTER_KEY", CLUSTER_KEY)
        .with("PROOFMILL_COORDINATOR__SERVE_KEYS", "true");
    let _coordinator = cluster.start_coordinator("coordinator");
    let home = tempfile::tempdir().expect("a folder");
    let home = home.path().to_str().expect("a path in UTF-8");
    let source = cluster.url("");
    let _gpu = cluster.start_with(
        "gpu-worker",
        "gpu-0",
        &[
            ("PROOFMILL_HOME", home),
            ("PROOFMILL_STORE__SOURCE", &source),
            ("PROOFMILL_GPU_WORKER__SHAPES", "summary"),
        ],
    );
    let _synth = cluster.start("synth-worker", "synth-0");
    cluster.wait_for_workers(2);
    let files = files(3);
    let jobs: Vec<String> = files
        .iter()
        .map(|file| cluster.submit("sha256", file.clone()))
        .collect();
    for (job, file) in jobs.iter().zip(&files) {
        cluster.assert_proved(job, file);
    }
    let names = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(format!("{home}/{folder}")).expect("the store");
        entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect()
    };
    assert!(names("shapes").iter().all(|name| !name.ends_with(".shape")));
    assert!(names("keys").iter().any(|name| name.ends_with(".params")));

    let id = jobs[0].parse().expect("a job id");
    wait_until("the span says what travelled", PROCESS_LIMIT, || {
        let spans = receiver.spans_of(id);
        let send = spans.iter().find(|span| span.name == "handoff.send")?;
        let mode = send.attributes.get("proofmill.handoff.mode")?;
        assert_eq!(mode.as_str(), "evaluated");
        Some(())
    });
}
