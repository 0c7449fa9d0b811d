//! A worker's heartbeat within the process.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::Shared;
use super::state::Expiring;
use crate::broker::{BrokerError, HeartbeatLine};
use crate::protocol::WorkerId;

/// See [`HeartbeatLine`].
pub(super) struct MemoryHeartbeat {
    shared: Arc<Shared>,
    worker: WorkerId,
}

impl MemoryHeartbeat {
    pub(super) const fn new(shared: Arc<Shared>, worker: WorkerId) -> Self {
        Self { shared, worker }
    }
}

impl fmt::Debug for MemoryHeartbeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryHeartbeat")
            .field("worker", &self.worker)
            .finish_non_exhaustive()
    }
}

impl HeartbeatLine for MemoryHeartbeat {
    fn beat(&mut self, record: &[u8], ttl: Duration) -> Result<(), BrokerError> {
        let entry = Expiring::lasting(Bytes::copy_from_slice(record), ttl);
        self.shared
            .state
            .lock()
            .workers
            .insert(self.worker.clone(), entry);
        Ok(())
    }

    fn leave(&mut self) -> Result<(), BrokerError> {
        self.shared.state.lock().workers.remove(&self.worker);
        Ok(())
    }
}
