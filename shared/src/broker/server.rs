//! A throwaway `redis-server` for tests and benches.

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
        let started = Self::try_start_with(arguments).await;
        started.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same, for those who can do without.
    ///
    /// # Errors
    /// If none is installed, or if it does not come up.
    pub async fn try_start_with(arguments: &[&str]) -> io::Result<Self> {
        let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
        for _ in 0..PORTS_TRIED {
            let folder = tempfile::tempdir()?;
            let port = free_port()?;
            let child = launch(&folder, port, &arguments)?;
            let mut server = Self {
                arguments: arguments.clone(),
                folder,
                port,
                child,
            };
            if server.comes_up().await {
                return Ok(server);
            }
            let log = server.log();
            if !log.contains("Address already in use") {
                return Err(io::Error::other(format!(
                    "the throwaway redis-server did not come up:\n{log}"
                )));
            }
        }
        Err(io::Error::other(format!(
            "no free port for a throwaway redis-server in {PORTS_TRIED} tries"
        )))
    }

    /// Where it is: `redis://127.0.0.1:<port>`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Its host and port.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
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

    /// Memory that the streams of assignments take, in bytes. Blocks.
    ///
    /// # Panics
    /// If the server does not answer.
    #[must_use]
    pub fn assignment_bytes(&self) -> u64 {
        let connection = redis::Client::open(self.url()).and_then(|client| client.get_connection());
        let mut connection = connection.expect("the test server takes a connection");
        let keys: Vec<String> = redis::cmd("KEYS")
            .arg("*:assignment:*")
            .query(&mut connection)
            .expect("the test server lists its keys");
        let usage = keys.iter().map(|key| {
            let mut usage = redis::cmd("MEMORY");
            usage.arg("USAGE").arg(key);
            usage
                .query::<Option<u64>>(&mut connection)
                .expect("the test server weighs its keys")
        });
        // A key that went meanwhile weighs nothing.
        usage.flatten().sum()
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
        self.child =
            launch(&self.folder, self.port, &self.arguments).expect("it was started before");
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
fn free_port() -> io::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    Ok(listener.local_addr()?.port())
}

fn launch(folder: &TempDir, port: u16, arguments: &[String]) -> io::Result<Child> {
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
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            launched => return launched,
        }
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        "no redis-server or valkey-server on the PATH: install the package redis-server",
    ))
}
