//! Shapes and keys on their way from a coordinator to a machine that lacks them, over real connections that break.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use proofmill_coordinator::actors::{Coordinator, CoordinatorOptions};
use proofmill_coordinator::api::{ApiConfig, ArtifactConfig, serve};
use proofmill_shared::broker::{Broker, MemoryBroker, MemoryConfig};
use proofmill_shared::distribution::{Artifact, ArtifactSource, DistributionError};
use proofmill_shared::groth16::{Shape, Store, generate_development_key};
use proofmill_shared::telemetry::ClusterClock;
use proofmill_synth_worker::circuit::{CircuitRegistry, RegisteredCircuit};
use rand::rngs::OsRng;
use tempfile::TempDir;

/// The circuit whose shape and key travel: a key of some hundred KiB.
fn circuit() -> RegisteredCircuit {
    let id = "chain-1k".parse().expect("a circuit's name");
    let registry = CircuitRegistry::builtin();
    registry.get(&id).expect("a built-in circuit").clone()
}

/// A coordinator that knows the circuit, with its store.
struct Site {
    address: SocketAddr,
    store: Store,
    _home: TempDir,
}

impl Site {
    fn start(is_key_served: bool) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let store = Store::new(home.path());
        let served = store.clone();
        let (ready, started) = mpsc::channel();
        thread::spawn(move || {
            actix::System::new().block_on(async move {
                let broker = MemoryBroker::start(MemoryConfig::default());
                let record = circuit().record().expect("the circuit records");
                let body = serde_json::to_vec(&record).expect("a record").into();
                broker
                    .put_circuit(&record.id, body)
                    .await
                    .expect("it is registered");
                let clock = ClusterClock::measure(&*broker).await.expect("a clock");
                let handle =
                    Coordinator::start(CoordinatorOptions::new(broker, clock.clone(), 1 << 20));
                while !handle.is_ready() {
                    tokio::task::yield_now().await;
                }
                let config = ApiConfig {
                    listen: (Ipv4Addr::LOCALHOST, 0).into(),
                    is_insecure_allowed: false,
                    input_bytes_max: 1 << 20,
                    clock,
                    artifacts: ArtifactConfig {
                        store: Some(served),
                        is_key_served,
                    },
                };
                let (server, address) = serve(handle, config).expect("a free port");
                ready.send(address).expect("the test waits");
                server.await.expect("it serves to the end");
            });
        });
        Self {
            address: started.recv().expect("the coordinator starts"),
            store,
            _home: home,
        }
    }

    /// The same, with shape and key in its store.
    fn with_key() -> (Self, std::sync::Arc<Shape>) {
        let site = Self::start(true);
        let shape = circuit().shape().expect("the circuit records");
        let key = generate_development_key(&shape, &mut OsRng, &|_| ()).expect("a key");
        site.store.put_shape(&shape).expect("the store takes it");
        site.store
            .put_key(shape.digest, &key)
            .expect("the store takes it");
        (site, shape)
    }

    fn source(&self) -> ArtifactSource {
        source_at(self.address)
    }
}

fn source_at(address: SocketAddr) -> ArtifactSource {
    ArtifactSource::new(&format!("http://{address}")).expect("an address")
}

fn empty_store() -> (Store, TempDir) {
    let home = tempfile::tempdir().expect("a folder");
    (Store::new(home.path()), home)
}

/// Passes connections on to a server, and cuts each after so many bytes of its answers. Answers with how many there were.
fn cutting_proxy(server: SocketAddr, bytes: usize) -> (SocketAddr, mpsc::Receiver<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (count, counted) = mpsc::channel();
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.expect("a connection");
            let mut upstream = TcpStream::connect(server).expect("the server is there");
            if count.send(()).is_err() {
                return;
            }
            let (mut asks, mut asked) = (
                client.try_clone().expect("a socket"),
                upstream.try_clone().expect("a socket"),
            );
            thread::spawn(move || std::io::copy(&mut asks, &mut asked));
            let mut left = bytes;
            let mut piece = [0; 4096];
            while left > 0 {
                let wanted = left.min(piece.len());
                match upstream.read(&mut piece[..wanted]) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => {
                        left -= read;
                        if client.write_all(&piece[..read]).is_err() {
                            break;
                        }
                    }
                }
            }
            // Both directions end, whatever the other side still wants.
            drop(client.shutdown(std::net::Shutdown::Both));
            drop(upstream.shutdown(std::net::Shutdown::Both));
        }
    });
    (address, counted)
}

#[test]
fn a_machine_without_shape_and_key_gets_both() {
    let (site, shape) = Site::with_key();
    let (store, _home) = empty_store();
    for artifact in [Artifact::Shape(shape.digest), Artifact::Key(shape.digest)] {
        assert!(site.source().fetch(&store, artifact).expect("it comes") > 0);
        assert_eq!(
            site.source().fetch(&store, artifact).expect("it is there"),
            0
        );
    }
    assert_eq!(
        store.shape(shape.digest).expect("a shape").digest,
        shape.digest
    );
    assert_eq!(
        store.checked_key(shape.digest).expect("a readable store"),
        None
    );
    let key = store
        .open_key(shape.digest)
        .expect("a key that passes the full check");
    key.fits(&shape).expect("the key of this shape");
    assert_eq!(
        store.checked_key(shape.digest).expect("a readable store"),
        Some(key.digest)
    );
}

#[test]
fn a_download_goes_on_where_the_connection_broke() {
    let (site, shape) = Site::with_key();
    let (store, _home) = empty_store();
    let whole = std::fs::metadata(site.store.key_path(shape.digest))
        .expect("a key")
        .len();
    let (address, connections) = cutting_proxy(site.address, 100_000);
    let fetched = source_at(address).fetch(&store, Artifact::Key(shape.digest));
    assert_eq!(
        fetched.expect("it comes in the end"),
        whole,
        "no byte came twice"
    );
    assert!(connections.try_iter().count() as u64 > whole / 100_000);
    store.open_key(shape.digest).expect("the key is whole");
}

#[test]
fn a_partial_download_of_other_content_is_begun_anew() {
    let (site, shape) = Site::with_key();
    let (store, _home) = empty_store();
    let path = store.key_path(shape.digest);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let partial = path.with_extension("params.partial");
    std::fs::write(&partial, b"of a key that was replaced").expect("written");
    std::fs::write(path.with_extension("params.partial-of"), "00".repeat(32)).expect("written");
    let fetched = site.source().fetch(&store, Artifact::Key(shape.digest));
    fetched.expect("it comes");
    store.open_key(shape.digest).expect("the key is whole");
    assert!(!partial.exists());
}

#[test]
fn a_coordinator_that_keeps_its_keys_says_what_to_do() {
    let site = Site::start(false);
    let (store, _home) = empty_store();
    let shape = circuit().shape().expect("the circuit records").digest;
    let refused = site
        .source()
        .fetch(&store, Artifact::Key(shape))
        .expect_err("refused");
    let told = refused.to_string();
    assert!(
        matches!(refused, DistributionError::Refused { status: 403, .. }),
        "{told}"
    );
    assert!(told.contains("coordinator.serve_keys"), "{told}");
    let refused = site
        .source()
        .fetch(&store, Artifact::Shape(shape))
        .expect_err("refused");
    assert!(refused.to_string().contains("params generate"), "{refused}");
}

#[test]
fn two_workers_of_one_host_download_once() {
    let (site, shape) = Site::with_key();
    let (store, _home) = empty_store();
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (source, store) = (site.source(), store.clone());
            let artifact = Artifact::Key(shape.digest);
            thread::spawn(move || source.fetch(&store, artifact).expect("it comes"))
        })
        .collect();
    let fetched = workers
        .into_iter()
        .map(|worker| worker.join().expect("no panic"));
    assert_eq!(fetched.filter(|bytes| *bytes > 0).count(), 1);
}

#[test]
fn a_coordinator_takes_the_shape_of_a_registered_circuit_once_and_no_other() {
    let site = Site::start(false);
    let (store, _home) = empty_store();
    let shape = circuit().shape().expect("the circuit records");
    store.put_shape(&shape).expect("the store takes it");
    assert!(
        site.source()
            .offer_shape(&store, shape.digest)
            .expect("taken")
    );
    assert!(
        !site
            .source()
            .offer_shape(&store, shape.digest)
            .expect("it has it")
    );
    assert_eq!(
        site.store.shape(shape.digest).expect("a shape").digest,
        shape.digest
    );

    let id = "chain".parse().expect("a circuit's name");
    let other = CircuitRegistry::builtin();
    let other = other
        .get(&id)
        .expect("built in")
        .shape()
        .expect("it records");
    store.put_shape(&other).expect("the store takes it");
    let refused = site
        .source()
        .offer_shape(&store, other.digest)
        .expect_err("refused");
    assert!(
        matches!(refused, DistributionError::Refused { status: 404, .. }),
        "{refused}"
    );
}

#[test]
fn a_shape_that_is_another_is_refused() {
    let site = Site::start(false);
    let shape = circuit().shape().expect("the circuit records");
    let url = format!("http://{}/v1/shapes/{}", site.address, shape.digest);
    let put = |body: Vec<u8>| {
        let request = reqwest::blocking::Client::new().put(&url);
        let request = request.header("content-type", "application/octet-stream");
        request.body(body).send().expect("an answer")
    };
    let mut flipped = shape.encode().to_vec();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    for body in [flipped, b"no shape".to_vec(), Vec::new()] {
        assert_eq!(put(body).status(), 422);
        assert!(!site.store.shape_path(shape.digest).exists());
    }
    let folder = site.store.shape_path(shape.digest);
    let left = std::fs::read_dir(folder.parent().expect("a folder")).expect("a folder");
    assert_eq!(left.count(), 0, "nothing half-created is left");
}
