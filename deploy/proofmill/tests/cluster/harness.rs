//! Starts real processes over a real Redis, and stops them in every way there is.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use proofmill_shared::broker::server::TestServer;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Longest wait for a process to come up or to end.
pub(crate) const PROCESS_LIMIT: Duration = Duration::from_secs(30);

/// Longest wait for one job: the machine may be small and busy.
pub(crate) const JOB_LIMIT: Duration = Duration::from_secs(240);

/// Time between two looks at a condition.
const POLL: Duration = Duration::from_millis(25);

/// Jobs a scenario submits: few in the smoke tier, many in the full one.
pub(crate) fn tier(smoke: usize, full: usize) -> usize {
    if std::env::vars().any(|(key, value)| key == "TEST_TIER" && value == "full") {
        full
    } else {
        smoke
    }
}

/// Waits until a condition holds; panics with its text when the limit is over.
pub(crate) fn wait_until<T>(
    what: &str,
    limit: Duration,
    mut condition: impl FnMut() -> Option<T>,
) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(
            started.elapsed() < limit,
            "waited {limit:?} in vain until {what}"
        );
        std::thread::park_timeout(POLL);
    }
}

/// A binary of this workspace, beside the test's own.
pub(crate) fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test
        .parent()
        .and_then(Path::parent)
        .expect("tests lie in target/PROFILE/deps");
    let path = folder.join(name);
    assert!(
        path.exists(),
        "{} is missing: run cargo build --release --workspace",
        path.display()
    );
    path
}

/// The store with development keys, made once for all scenarios of this test binary and kept beside it.
pub(crate) fn home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let home = binary("proofmill").with_file_name("test-home");
        for circuit in ["sha256", "chain-1k"] {
            let made = Command::new(binary("proofmill"))
                .args(["params", "generate", circuit])
                .env("PROOFMILL_HOME", &home)
                .stdin(Stdio::null())
                .output()
                .expect("proofmill starts");
            assert!(
                made.status.success(),
                "{}",
                String::from_utf8_lossy(&made.stderr)
            );
        }
        home
    })
}

/// A process of the cluster; killed when dropped.
pub(crate) struct Process {
    pub(crate) name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill")
            .args([signal, &pid])
            .status()
            .expect("kill starts");
        assert!(
            sent.success(),
            "signal {signal} did not reach {}",
            self.name
        );
    }

    pub(crate) fn kill(&mut self) {
        self.signal("-KILL");
        self.wait();
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let (child, name) = (&mut self.child, &self.name);
        wait_until(&format!("{name} has ended"), PROCESS_LIMIT, || {
            child.try_wait().expect("child can be waited for")
        })
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.child.kill().is_ok() && self.child.wait().is_err() {
            eprintln!("{} could not be reaped", self.name);
        }
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<&str> = log.lines().rev().take(40).collect();
            eprintln!("--- {} ---", self.name);
            tail.into_iter().rev().for_each(|line| eprintln!("{line}"));
        }
    }
}

/// A throwaway Redis, started from a thread without a runtime.
fn start_redis() -> TestServer {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(TestServer::start())
}

/// A Redis with the processes around it.
pub(crate) struct Cluster {
    pub(crate) redis: TestServer,
    folder: tempfile::TempDir,
    port: u16,
    otlp: Option<String>,
    variables: Vec<(&'static str, &'static str)>,
    client: reqwest::blocking::Client,
}

impl Cluster {
    /// A Redis and a port for a coordinator; spans go to `otlp` if given.
    pub(crate) fn new(otlp: Option<String>) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .expect("a free port")
            .local_addr()
            .expect("bound")
            .port();
        let client = reqwest::blocking::Client::builder()
            .timeout(Duration::from_secs(60))
            .build()
            .expect("client");
        let folder = tempfile::tempdir().expect("a folder");
        Self {
            redis: start_redis(),
            folder,
            port,
            otlp,
            variables: Vec::new(),
            client,
        }
    }

    /// Gives every process that is started from now on a variable.
    pub(crate) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    /// Starts a process of this cluster.
    pub(crate) fn start(&self, program: &str, id: &str) -> Process {
        self.start_with(program, id, &[])
    }

    /// Starts a process of this cluster with further variables, which win.
    pub(crate) fn start_with(
        &self,
        program: &str,
        id: &str,
        variables: &[(&str, &str)],
    ) -> Process {
        let log = self.folder.path().join(format!("{id}.log"));
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .expect("a log file");
        let mut command = Command::new(binary(program));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("PROOFMILL_HOME", home())
            .env("PROOFMILL_BROKER__URL", self.redis.url())
            .env(
                "PROOFMILL_COORDINATOR__LISTEN",
                format!("127.0.0.1:{}", self.port),
            )
            .env("PROOFMILL_SYNTH_WORKER__ID", id)
            .env("PROOFMILL_SYNTH_WORKER__SLOTS", "1")
            .env("PROOFMILL_GPU_WORKER__ID", id)
            .env("PROOFMILL_GPU_WORKER__DEVICE", "cpu")
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a second handle"))
            .stderr(file);
        if let Some(endpoint) = &self.otlp {
            command
                .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
                .env("OTEL_BSP_SCHEDULE_DELAY", "200");
        }
        let child = command
            .envs(self.variables.iter().copied())
            .envs(variables.iter().copied())
            .spawn()
            .expect("process starts");
        Process {
            name: id.to_owned(),
            child,
            log,
        }
    }

    /// Starts a coordinator and waits until it is ready.
    pub(crate) fn start_coordinator(&self, id: &str) -> Process {
        let mut coordinator = self.start("coordinator", id);
        wait_until("the coordinator is ready", PROCESS_LIMIT, || {
            assert!(
                coordinator
                    .child
                    .try_wait()
                    .expect("child can be waited for")
                    .is_none(),
                "{}",
                coordinator.log()
            );
            let answer = self.client.get(self.url("/readyz")).send().ok()?;
            answer.status().is_success().then_some(())
        });
        coordinator
    }

    /// Waits until this many workers are registered.
    pub(crate) fn wait_for_workers(&self, count: usize) {
        wait_until(&format!("{count} workers are there"), PROCESS_LIMIT, || {
            let workers = self.get("/v1/workers")?;
            (items(&workers, "workers").len() >= count).then_some(())
        });
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Reads a JSON answer; `None` while nobody answers.
    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        self.client.get(self.url(path)).send().ok()?.json().ok()
    }

    /// Submits bytes to a circuit and answers with the job's id.
    pub(crate) fn submit(&self, circuit: &str, input: Vec<u8>) -> String {
        let answer = self
            .client
            .post(self.url(&format!("/v1/jobs?circuit={circuit}")))
            .header("content-type", "application/octet-stream")
            .body(input)
            .send()
            .expect("the coordinator answers");
        let status = answer.status();
        let body: Value = answer.json().expect("a JSON answer");
        assert!(status.is_success(), "{status}: {body}");
        body["id"].as_str().expect("an id").to_owned()
    }

    /// Waits until a job has ended, and answers with its state.
    pub(crate) fn wait_for(&self, job: &str) -> String {
        wait_until(&format!("job {job} has ended"), JOB_LIMIT, || {
            let view = self.get(&format!("/v1/jobs/{job}?wait=5s"))?;
            let state = view["state"].as_str()?;
            let is_over =
                ["succeeded", "failed", "rejected", "cancelled", "expired"].contains(&state);
            is_over.then(|| state.to_owned())
        })
    }

    /// Checks a job from outside: its digest is the file's, and the command verifies its proof against the key.
    pub(crate) fn assert_proved(&self, job: &str, file: &[u8]) {
        assert_eq!(
            self.wait_for(job),
            "succeeded",
            "{:?}",
            self.get(&format!("/v1/jobs/{job}"))
        );
        let proof = self.get(&format!("/v1/jobs/{job}/proof")).expect("a proof");
        assert_eq!(proof["output"]["sha256"], hex::encode(Sha256::digest(file)));
        let path = self.folder.path().join(format!("{job}.json"));
        std::fs::write(&path, proof.to_string()).expect("a proof file");
        let verdict = Command::new(binary("proofmill"))
            .args(["verify", "--circuit", "sha256"])
            .arg(&path)
            .env("PROOFMILL_HOME", home())
            .output()
            .expect("proofmill starts");
        assert!(
            verdict.status.success(),
            "{}",
            String::from_utf8_lossy(&verdict.stderr)
        );
    }
}

/// The entries of a list answer, bare or under a name.
pub(crate) fn items<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer
        .as_array()
        .or_else(|| answer[name].as_array())
        .map_or(&[], Vec::as_slice)
}

/// Files of this repository's kind: short texts of different lengths, one or two partitions each.
pub(crate) fn files(count: usize) -> Vec<Vec<u8>> {
    let file =
        |index: usize| format!("file {index}: {}", "mill ".repeat(index % 23 + 1)).into_bytes();
    (0..count).map(file).collect()
}
