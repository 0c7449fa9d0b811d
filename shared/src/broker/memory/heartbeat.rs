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
    /// The record as this life of the worker wrote it last.
    written: Option<Bytes>,
}

impl MemoryHeartbeat {
    pub(super) const fn new(shared: Arc<Shared>, worker: WorkerId) -> Self {
        Self {
            shared,
            worker,
            written: None,
        }
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
        let record = Bytes::copy_from_slice(record);
        self.written = Some(record.clone());
        let entry = Expiring::lasting(record, ttl);
        self.shared
            .state
            .lock()
            .workers
            .insert(self.worker.clone(), entry);
        Ok(())
    }

    fn leave(&mut self) -> Result<(), BrokerError> {
        let mut state = self.shared.state.lock();
        let found = state.workers.get(&self.worker).map(|entry| &entry.value);
        // Another life of the worker may have written a newer one.
        if found.is_some() && found == self.written.as_ref() {
            state.workers.remove(&self.worker);
        }
        Ok(())
    }
}
