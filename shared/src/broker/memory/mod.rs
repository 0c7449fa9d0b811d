//! The in-memory broker: serialises, redelivers and expires like the real one.
//!
//! *Layout*: `calls` (the trait), `state` (what is stored, with expiry), `jobs` (records and token-checked writes), `streams` (deliveries and
//! payload), `heartbeat`. Everything is behind one lock that is never held across an await.

mod calls;
mod heartbeat;
mod jobs;
mod state;
mod streams;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use self::state::State;
use self::streams::{MemoryStreamReader, StreamName};
use super::limits::{BLOCK_MAX, ENTRY_BYTES_MAX};
use super::{BrokerError, StreamReader};
use crate::protocol::UnixMicros;

/// Time between two looks of a blocked reader: what becomes free because time passes (a delivery that nobody
/// acknowledged) is found this much later at most.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Payload and inputs held at a time unless configured otherwise: an embedded cluster keeps few assignments in flight.
const PAYLOAD_BYTES_MAX: u64 = 2 << 30;

/// Limits of the in-memory broker.
#[derive(Debug, Clone, Copy)]
pub struct MemoryConfig {
    /// Bytes of payload and inputs held at a time; more is answered as out of memory. Default 2 GiB.
    pub payload_limit_bytes: u64,
    /// Largest payload entry in bytes. Default 4 MiB, as over Redis.
    pub max_entry_bytes: usize,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            payload_limit_bytes: PAYLOAD_BYTES_MAX,
            max_entry_bytes: ENTRY_BYTES_MAX,
        }
    }
}

/// Broker within one process.
pub struct MemoryBroker {
    shared: Arc<Shared>,
    config: MemoryConfig,
}

struct Shared {
    state: Mutex<State>,
    /// Woken whenever a stream or payload grows.
    grown: Notify,
}

impl Shared {
    /// Waits until `look` finds something, at most `block`; each look happens under the lock.
    async fn wait_for<T>(
        &self,
        block: Duration,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let deadline = tokio::time::Instant::now() + block.min(BLOCK_MAX);
        loop {
            // Created before the look, so that growth between the look and the wait is not missed.
            let grown = self.grown.notified();
            if let Some(found) = look(&mut self.state.lock()) {
                return Some(found);
            }
            let now = tokio::time::Instant::now();
            if now >= deadline {
                return None;
            }
            // Growth and the next look are the same to this loop.
            drop(tokio::time::timeout_at(deadline.min(now + LOOK_INTERVAL), grown).await);
        }
    }
}

impl MemoryBroker {
    /// Starts an empty broker.
    #[must_use]
    pub fn start(config: MemoryConfig) -> Arc<Self> {
        let shared = Shared {
            state: Mutex::new(State::default()),
            grown: Notify::new(),
        };
        Arc::new(Self {
            shared: Arc::new(shared),
            config,
        })
    }

    fn append(&self, name: StreamName, message: Bytes) {
        self.shared.state.lock().append(name, message);
        self.shared.grown.notify_waiters();
    }

    fn reader(
        &self,
        name: StreamName,
        consumer: &str,
        min_idle: Option<Duration>,
    ) -> Box<dyn StreamReader> {
        Box::new(MemoryStreamReader::open(
            Arc::clone(&self.shared),
            name,
            consumer,
            min_idle,
        ))
    }

    fn make_room(&self, state: &mut State, bytes: usize) -> Result<(), BrokerError> {
        state.expire();
        let used = state.payload_bytes();
        if used.saturating_add(bytes as u64) > self.config.payload_limit_bytes {
            return Err(BrokerError::OutOfMemory);
        }
        Ok(())
    }
}

impl fmt::Debug for MemoryBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBroker")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The wall clock: within one process it is the cluster's clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the in-memory broker is the source of cluster time"
)]
fn wall_clock() -> UnixMicros {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    UnixMicros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
