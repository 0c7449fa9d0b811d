//! A server, a client, and short ways to ask.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use proofmill_shared::broker::{Broker, MemoryBroker, MemoryConfig};
use proofmill_shared::protocol::{CircuitId, CircuitRecord, Digest, UnixMicros};
use proofmill_shared::telemetry::ClusterClock;
use reqwest::{Method, RequestBuilder, Response};

use super::super::{ApiConfig, ArtifactConfig, Problem, serve};
use crate::actors::{Coordinator, CoordinatorOptions, QUEUE_LIMIT_DEFAULT};
use crate::handle::CoordinatorHandle;

/// Largest input the test servers take, in bytes.
pub(super) const INPUT_BYTES_MAX: usize = 64 * 1024;

/// A time on the cluster's clock, well past the epoch.
pub(super) const START: UnixMicros = UnixMicros(1_700_000_000_000_000);

/// A server on a free port of loopback; stops when dropped.
pub(super) struct TestServer {
    pub(super) address: SocketAddr,
    client: reqwest::Client,
    server: ServerHandle,
}

impl TestServer {
    pub(super) fn start(handle: CoordinatorHandle) -> Self {
        let (server, address) = serve(handle, config(0)).unwrap();
        let stop = server.handle();
        tokio::spawn(server);
        Self {
            address,
            client: reqwest::Client::new(),
            server: stop,
        }
    }

    pub(super) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        self.client
            .request(method, format!("http://{}{path}", self.address))
            .timeout(Duration::from_secs(20))
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.server.stop(false));
    }
}

/// A configuration for a port of loopback.
pub(super) fn config(port: u16) -> ApiConfig {
    ApiConfig {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        is_insecure_allowed: false,
        input_bytes_max: INPUT_BYTES_MAX,
        clock: ClusterClock::anchored(START, Duration::ZERO, 0),
        artifacts: ArtifactConfig {
            store: None,
            is_key_served: false,
        },
    }
}

/// Reads a refusal and checks that it is a whole one.
pub(super) async fn problem(response: Response) -> Problem {
    let status = response.status().as_u16();
    let content_type = response.headers()["content-type"].clone();
    let text = response.text().await.unwrap();
    assert_eq!(content_type, "application/problem+json", "{text}");
    let problem: Problem = serde_json::from_str(&text).unwrap();
    assert_eq!(problem.status, status);
    assert!(!problem.detail.is_empty() && !problem.advice.is_empty());
    assert_eq!(
        problem.kind,
        format!("urn:proofmill:problem:{}", problem.code)
    );
    problem
}

/// A server over a real coordinator that leads and knows the circuit `chain`; nobody works.
pub(super) async fn running() -> TestServer {
    running_with_queue(QUEUE_LIMIT_DEFAULT).await
}

/// The same, with room for so many jobs.
pub(super) async fn running_with_queue(queue_limit: usize) -> TestServer {
    let broker = MemoryBroker::start(MemoryConfig::default());
    let circuit: CircuitId = "chain".parse().unwrap();
    let record = CircuitRecord {
        id: circuit.clone(),
        statement: "a chain of squares ends in the stated value".to_owned(),
        input: "a length".to_owned(),
        shape: Digest::of(b"chain"),
        num_constraints: 1,
        num_inputs: 2,
        num_aux: 1,
    };
    let record = serde_json::to_vec(&record).unwrap().into();
    broker.put_circuit(&circuit, record).await.unwrap();
    let clock = ClusterClock::anchored(START, Duration::ZERO, 0);
    let handle = Coordinator::start(CoordinatorOptions {
        queue_limit,
        ..CoordinatorOptions::new(broker, clock, INPUT_BYTES_MAX)
    });
    let ready = async {
        while !handle.is_ready() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), ready)
        .await
        .expect("the coordinator leads soon");
    TestServer::start(handle)
}
