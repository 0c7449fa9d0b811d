//! The client commands against a real coordinator without workers: what they print, and how they exit.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Output};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use proofmill_coordinator::actors::{Coordinator, CoordinatorOptions};
use proofmill_coordinator::api::{ApiConfig, ArtifactConfig, serve};
use proofmill_shared::broker::{Broker, MemoryBroker, MemoryConfig};
use proofmill_shared::protocol::JobId;
use proofmill_shared::telemetry::ClusterClock;
use proofmill_synth_worker::circuit::CircuitRegistry;
use serde_json::Value;

/// Largest input of the test coordinator, in bytes.
const INPUT_BYTES_MAX: usize = 64 * 1024;

/// How long the coordinator may take to lead.
const READY_LIMIT: Duration = Duration::from_secs(10);

/// Starts a coordinator over an in-memory broker that knows `chain-1k`; it lives as long as the test's process.
fn coordinator() -> SocketAddr {
    let (ready, when_ready) = mpsc::channel();
    thread::spawn(move || {
        actix::System::new().block_on(async move {
            let broker = MemoryBroker::start(MemoryConfig::default());
            let registry = CircuitRegistry::builtin();
            let id = "chain-1k".parse().expect("a circuit id");
            let record = registry.get(&id).and_then(|circuit| circuit.record());
            let record = serde_json::to_vec(&record.expect("a built-in circuit"));
            let record = record.expect("a record is JSON").into();
            broker
                .put_circuit(&id, record)
                .await
                .expect("memory takes it");
            let clock = ClusterClock::measure(&*broker)
                .await
                .expect("memory has a clock");
            let options = CoordinatorOptions::new(broker, clock.clone(), INPUT_BYTES_MAX);
            let handle = Coordinator::start(options);
            let leads = async {
                while !handle.is_ready() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(READY_LIMIT, leads)
                .await
                .expect("it leads soon");
            let config = ApiConfig {
                listen: (Ipv4Addr::LOCALHOST, 0).into(),
                is_insecure_allowed: false,
                input_bytes_max: INPUT_BYTES_MAX,
                clock,
                artifacts: ArtifactConfig {
                    store: None,
                    is_key_served: false,
                },
            };
            let (server, address) = serve(handle, config).expect("a free port");
            ready.send(address).expect("the test waits");
            server.await.expect("it serves to the end");
        });
    });
    when_ready.recv().expect("the coordinator starts")
}

fn proofmill(address: SocketAddr, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_proofmill"))
        .args(args)
        .env("PROOFMILL_URL", format!("http://{address}"))
        .env_remove("PROOFMILL_API_KEY")
        .output()
        .expect("the command starts")
}

/// Runs a command that must end with this exit code, and reads its JSON.
fn json_of(address: SocketAddr, exit: i32, args: &[&str]) -> Value {
    let args: Vec<&str> = std::iter::once("--json")
        .chain(args.iter().copied())
        .collect();
    let output = proofmill(address, &args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(exit), "{args:?}: {said}");
    let text = if output.stdout.is_empty() {
        &output.stderr
    } else {
        &output.stdout
    };
    serde_json::from_slice(text).expect("the result is JSON")
}

fn submit(address: SocketAddr) -> String {
    let submit = ["submit", "chain-1k", "--input-json", r#"{"start":1}"#];
    let job = json_of(address, 0, &submit);
    job["id"].as_str().expect("a job has an id").to_owned()
}

#[test]
fn a_job_is_submitted_followed_and_cancelled() {
    let address = coordinator();
    let id = submit(address);
    assert_eq!(json_of(address, 0, &["jobs"])["jobs"][0]["id"], id.as_str());
    assert_eq!(json_of(address, 0, &["job", &id])["id"], id.as_str());
    let waited = json_of(address, 5, &["job", &id, "--wait", "--timeout", "200ms"]);
    assert_eq!(waited["ended_at"], Value::Null);
    assert_eq!(json_of(address, 0, &["cancel", &id])["state"], "cancelled");
    assert_eq!(
        json_of(address, 1, &["job", &id, "--wait"])["state"],
        "cancelled"
    );
    let again = json_of(address, 1, &["cancel", &id]);
    assert_eq!(again["error"]["code"], "wrong-state");
    let proof = json_of(address, 1, &["proof", &id]);
    assert_eq!(proof["error"]["code"], "wrong-state");
    let timeline = json_of(address, 0, &["timeline", &id]);
    assert_eq!(timeline["id"], id.as_str());
}

#[test]
fn what_the_coordinator_refuses_decides_the_exit_code() {
    let address = coordinator();
    let unknown = JobId::generate().to_string();
    let large = "7".repeat(INPUT_BYTES_MAX + 1);
    for (exit, code, args) in [
        (
            3,
            "unknown-circuit",
            &["submit", "nowhere", "--input-json", "1"][..],
        ),
        (
            3,
            "body-too-large",
            &["submit", "chain-1k", "--input-json", &large],
        ),
        (
            2,
            "deadline-passed",
            &[
                "submit",
                "chain-1k",
                "--input-json",
                "1",
                "--deadline",
                "0s",
            ],
        ),
        (
            2,
            "bad-body",
            &[
                "submit",
                "chain-1k",
                "--input-json",
                "1",
                "--deadline",
                "soon",
            ],
        ),
        (1, "unknown-job", &["job", &unknown]),
        (1, "unknown-job", &["retry", &unknown]),
        (1, "unknown-job", &["timeline", &unknown]),
    ] {
        let error = json_of(address, exit, args);
        assert_eq!(error["error"]["code"], code);
    }
}

#[test]
fn a_submission_with_its_key_can_be_repeated() {
    let address = coordinator();
    let submit = |input: &'static str| {
        let args = [
            "submit",
            "chain-1k",
            "--input-json",
            input,
            "--idempotency-key",
            "k1",
        ];
        proofmill(address, &args)
    };
    let (first, second) = (submit("1"), submit("1"));
    assert!(first.status.success());
    assert_eq!(first.stdout, second.stdout);
    let other = submit("2");
    assert_eq!(other.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&other.stderr).contains("use a new key"));
}

#[test]
fn people_get_tables_and_are_told_what_to_do_next() {
    let address = coordinator();
    let id = submit(address);
    for (args, expected) in [
        (&["jobs"][..], "chain-1k@1"),
        (&["job", &id], "trace"),
        (&["circuits"], "CONSTRAINTS"),
        (&["workers"], "no workers: start"),
        (&["cancel", &id], "proofmill retry"),
    ] {
        let output = proofmill(address, args);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && text.contains(expected),
            "{args:?}: {text}"
        );
    }
}
