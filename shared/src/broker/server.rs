//! A throwaway `redis-server` for tests.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// Programs that are looked for on the PATH, in this order.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// Longest wait until a server answers: a loaded machine starts one in well under a second.
const READY_LIMIT: Duration = Duration::from_secs(20);

/// Longest wait for one answer while it starts.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// Time between two looks whether it answers.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Ports tried: another process may take one between its choice and its use.
const PORTS_TRIED: usize = 10;

/// What every server is started with; later arguments win.
const ARGUMENTS: [&str; 12] = [
    "--bind",
    "127.0.0.1",
    "--save",
    "",
    "--appendonly",
    "no",
    "--maxmemory",
    "256mb",
    "--maxmemory-policy",
    "noeviction",
    "--logfile",
    LOG,
];

/// Its log, within its folder.
const LOG: &str = "server.log";

/// A server of a test's own on a free loopback port, without persistence, with 256 MiB and `noeviction`. It ends, and
/// its files go, when this is dropped.
#[derive(Debug)]
pub struct TestServer {
    arguments: Vec<String>,
    folder: TempDir,
    port: u16,
    child: Child,
}

impl TestServer {
    /// Starts a server.
    ///
    /// # Panics
    /// If none is installed, or if it does not come up.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts a server with further arguments, which win over the usual ones, such as `["--appendonly", "yes"]`.
    ///
    /// # Panics
    /// If none is installed, or if it does not come up.
    pub async fn start_with(arguments: &[&str]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
        for _ in 0..PORTS_TRIED {
            let folder = tempfile::tempdir().expect("a temporary folder can be made");
            let port = free_port();
            let child = launch(&folder, port, &arguments);
            let mut server = Self {
                arguments: arguments.clone(),
                folder,
                port,
                child,
            };
            if server.comes_up().await {
                return server;
            }
            let log = server.log();
            let is_taken = log.contains("Address already in use");
            assert!(is_taken, "the test server did not come up:\n{log}");
        }
        panic!("no free port for a test server in {PORTS_TRIED} tries");
    }

    /// Where it is: `redis://127.0.0.1:<port>`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// All bytes of the files it wrote: its append-only file, if it has one.
    ///
    /// # Panics
    /// If they cannot be read.
    #[must_use]
    pub fn written(&self) -> Vec<u8> {
        let mut written = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("the server's folder is there") {
                let path = entry.expect("the server's folder can be read").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    written.extend(fs::read(path).expect("the server's files can be read"));
                }
            }
        }
        written
    }

    /// Ends it at once, as a crash does.
    pub fn kill(&mut self) {
        // Fails only if it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Starts it again on the same port; what it had in memory only is gone.
    ///
    /// # Panics
    /// If it does not come up.
    pub async fn start_again(&mut self) {
        self.kill();
        self.child = launch(&self.folder, self.port, &self.arguments);
        let is_up = self.comes_up().await;
        assert!(
            is_up,
            "the test server did not come up again:\n{}",
            self.log()
        );
    }

    /// Freezes it: connections stand, nothing is answered.
    ///
    /// # Panics
    /// If the signal cannot be sent.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Ends a [`TestServer::freeze`].
    ///
    /// # Panics
    /// If the signal cannot be sent.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.child.id().to_string())
            .status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "signal {name} could not be sent to the test server"
        );
    }

    /// Waits until it answers; false if it ended or the time is over.
    async fn comes_up(&mut self) -> bool {
        let started = Instant::now();
        while started.elapsed() < READY_LIMIT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return false;
            }
            if let Ok(Ok(answer)) = timeout(ANSWER_LIMIT, self.introduction()).await
                && self.is_of_this_server(&answer)
            {
                return true;
            }
            sleep(LOOK_INTERVAL).await;
        }
        false
    }

    /// What the server on the port says of itself.
    async fn introduction(&self) -> io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.write_all(b"INFO server\r\nQUIT\r\n").await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// True unless another process took the port. One that wants a password first says nothing of itself.
    fn is_of_this_server(&self, answer: &str) -> bool {
        let id = format!("process_id:{}\r", self.child.id());
        answer.contains(&id) || answer.starts_with("-NOAUTH")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join(LOG)).unwrap_or_default()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    let address = listener
        .local_addr()
        .expect("a bound socket has an address");
    address.port()
}

fn launch(folder: &TempDir, port: u16, arguments: &[String]) -> Child {
    for program in PROGRAMS {
        let launched = Command::new(program)
            .arg("--port")
            .arg(port.to_string())
            .arg("--dir")
            .arg(folder.path())
            .args(ARGUMENTS)
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match launched {
            Ok(child) => return child,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => panic!("{program} cannot be started: {error}"),
        }
    }
    panic!("no redis-server or valkey-server on the PATH: install redis-server for these tests");
}
