//! The threads that move bytes between this process and the server.

use std::fmt;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::broker::BrokerError;

/// Threads that serve all connections: enough to read a large payload while small answers come in.
const IO_THREADS: usize = 2;

/// A runtime of the broker's own: connections are served however busy the callers' threads are. Ends with the last
/// connection that uses it.
pub(super) struct Io {
    runtime: Option<Runtime>,
    handle: Handle,
}

impl Io {
    pub(super) fn start() -> Result<Self, BrokerError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(IO_THREADS)
            .thread_name("broker-io")
            .enable_all()
            .build()
            .map_err(|error| BrokerError::Config {
                reason: format!("cannot start threads for the broker's connections: {error}"),
            })?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }

    pub(super) const fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Io {
    fn drop(&mut self) {
        // Never waits: the last owner may be an async task, where waiting for a runtime panics.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Io").finish_non_exhaustive()
    }
}
