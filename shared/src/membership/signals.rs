//! The signals that ask a process to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGINT of this process. The first asks for an orderly stop; whoever waits for a second may end at once.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Starts to listen; must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// The system's error if signals cannot be received.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal and answers with its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
