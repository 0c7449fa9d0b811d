//! What only a server can do to a broker.
//!
//! *Layout*: `suitability` (which servers are refused), `absence` (restarts, freezes, cut-off reads), `repetition`
//! (answers that are lost), `fullness` (a server at its memory limit), `upkeep` (what is left behind), `sealing` (what is
//! to be read there).

mod absence;
mod fullness;
mod repetition;
mod sealing;
mod suitability;
mod upkeep;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{RedisBroker, RedisConfig};
use crate::broker::StreamReader;
use crate::broker::server::TestServer;
use crate::protocol::WorkerId;

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(200);
const LIMIT: Duration = Duration::from_secs(20);

async fn broker(server: &TestServer) -> Arc<RedisBroker> {
    let broker = RedisBroker::connect(RedisConfig::new(server.url())).await;
    broker.unwrap()
}

/// A broker that notices an absent server soon.
async fn impatient(server: &TestServer, retry_for: Duration) -> Arc<RedisBroker> {
    let config = RedisConfig {
        response_timeout: Duration::from_millis(300),
        connect_timeout: Duration::from_millis(300),
        retry_for,
        ..RedisConfig::new(server.url())
    };
    RedisBroker::connect(config).await.unwrap()
}

fn worker() -> WorkerId {
    WorkerId::new("w").unwrap()
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// Reads until something comes.
async fn read_some(reader: &mut dyn StreamReader) -> Vec<Bytes> {
    let started = Instant::now();
    loop {
        assert!(started.elapsed() < LIMIT, "no message came");
        // A read that fails while the server is away is made again.
        let found = reader.read(9, SHORT).await.unwrap_or_default();
        if !found.is_empty() {
            return found.into_iter().map(|delivery| delivery.body).collect();
        }
    }
}
