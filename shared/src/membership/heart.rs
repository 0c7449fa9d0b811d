//! The heartbeat: an OS thread of its own on a connection of its own, so that a loaded CPU never looks dead.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;

use super::held::HeldTable;
use crate::broker::{BrokerError, HeartbeatLine};
use crate::protocol::WorkerRecord;
use crate::telemetry::ClusterClock;

/// What the heart is told.
enum Pulse {
    /// Beat now, something changed.
    Now,
    /// Leave and end.
    Stop,
}

/// A running heartbeat. Ends by [`Heart::stop`]; dropped without it, the thread ends and the record expires.
#[derive(Debug)]
pub(super) struct Heart {
    pulses: mpsc::Sender<Pulse>,
    thread: JoinHandle<()>,
}

impl Heart {
    /// Beats once, and then every `interval`.
    ///
    /// # Errors
    /// The [`BrokerError`] of the first beat: a worker that nobody can see must not start.
    pub(super) fn start(
        mut line: Box<dyn HeartbeatLine>,
        record: Arc<Mutex<WorkerRecord>>,
        held: HeldTable,
        clock: ClusterClock,
        interval: Duration,
        ttl: Duration,
    ) -> Result<Self, BrokerError> {
        let beat = move |line: &mut dyn HeartbeatLine| {
            let body = {
                let mut record = record.lock();
                record.held = held.snapshot();
                record.clock_offset_micros = clock.wall_offset_micros();
                record.clock_uncertainty_micros =
                    u64::try_from(clock.uncertainty().as_micros()).unwrap_or(u64::MAX);
                serde_json::to_vec(&*record)
            };
            match body {
                Ok(body) => line.beat(&body, ttl),
                Err(error) => Err(BrokerError::Unexpected {
                    detail: error.to_string(),
                }),
            }
        };
        beat(&mut *line)?;
        let (pulses, inbox) = mpsc::channel();
        let run = move || {
            let mut is_failing = false;
            loop {
                match inbox.recv_timeout(interval) {
                    Ok(Pulse::Now) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                    Ok(Pulse::Stop) => {
                        if let Err(error) = line.leave() {
                            tracing::debug!(%error, "could not leave, the record expires by itself");
                        }
                        return;
                    }
                }
                match beat(&mut *line) {
                    Ok(()) if is_failing => {
                        is_failing = false;
                        tracing::info!("heartbeat is back");
                    }
                    Ok(()) => {}
                    Err(error) if is_failing => tracing::debug!(%error, "heartbeat still fails"),
                    Err(error) => {
                        is_failing = true;
                        tracing::warn!(%error, "heartbeat failed, trying again every beat");
                    }
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("heartbeat".into())
            .spawn(run)
            .map_err(|error| BrokerError::Unexpected {
                detail: format!("no thread for the heartbeat: {error}"),
            })?;
        Ok(Self { pulses, thread })
    }

    /// Beats at once rather than at the next interval.
    pub(super) fn beat_now(&self) {
        if self.pulses.send(Pulse::Now).is_err() {
            tracing::debug!("heartbeat has ended");
        }
    }

    /// Removes the worker's record and waits for the thread.
    pub(super) fn stop(self) {
        if self.pulses.send(Pulse::Stop).is_ok() && self.thread.join().is_err() {
            tracing::warn!("heartbeat thread panicked");
        }
    }
}
