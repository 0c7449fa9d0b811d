//! A worker's heartbeat: blocking calls on a connection of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{Connection, RedisError, Script, cmd, pipe};

use super::endpoint::Endpoint;
use super::leadership::millis;
use super::refusal::{Refusal, breaks_connection};
use crate::broker::{BrokerError, HeartbeatLine};
use crate::protocol::WorkerId;

/// Longest wait for each step of a beat: well under the time after which a silent worker counts as lost.
const STEP_LIMIT: Duration = Duration::from_secs(1);

/// See [`HeartbeatLine`].
pub(super) struct RedisHeartbeat {
    endpoint: Arc<Endpoint>,
    connection: Option<Connection>,
    leave: Script,
    worker: WorkerId,
    key: String,
    index: String,
    /// The record as it was written last.
    written: Option<Vec<u8>>,
}

impl RedisHeartbeat {
    /// Connects at the first beat.
    pub(super) fn new(
        endpoint: Arc<Endpoint>,
        worker: WorkerId,
        key: String,
        index: String,
    ) -> Self {
        Self {
            endpoint,
            connection: None,
            leave: Script::new(include_str!("scripts/leave.lua")),
            worker,
            key,
            index,
            written: None,
        }
    }

    /// Makes an exchange; once more on a new connection if it fails on one that may have broken since the last beat.
    fn ask<T>(
        &mut self,
        exchange: impl Fn(&mut Connection) -> Result<T, RedisError>,
    ) -> Result<T, Refusal> {
        let was_open = self.connection.is_some();
        match self.ask_once(&exchange) {
            Err(Refusal::Broker(BrokerError::Unreachable { .. })) if was_open => {
                self.ask_once(&exchange)
            }
            answer => answer,
        }
    }

    fn ask_once<T>(
        &mut self,
        exchange: impl Fn(&mut Connection) -> Result<T, RedisError>,
    ) -> Result<T, Refusal> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.endpoint.connect_blocking(STEP_LIMIT)?,
        };
        match exchange(&mut connection) {
            Ok(answer) => {
                self.connection = Some(connection);
                Ok(answer)
            }
            Err(error) => {
                if !breaks_connection(&error) {
                    self.connection = Some(connection);
                }
                Err(self.endpoint.judge(STEP_LIMIT, &error))
            }
        }
    }

    /// Renews the record that is there: all that a full server allows.
    fn renew(&mut self, ttl: u64) -> Result<(), BrokerError> {
        let mut renew = cmd("PEXPIRE");
        renew.arg(&self.key).arg(ttl);
        match self.ask(|connection| renew.query::<bool>(connection))? {
            true => Ok(()),
            false => Err(BrokerError::OutOfMemory),
        }
    }
}

impl fmt::Debug for RedisHeartbeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisHeartbeat")
            .field("worker", &self.worker)
            .finish_non_exhaustive()
    }
}

impl HeartbeatLine for RedisHeartbeat {
    fn beat(&mut self, record: &[u8], ttl: Duration) -> Result<(), BrokerError> {
        let ttl = millis(ttl);
        let mut beat = pipe();
        beat.cmd("SET").arg(&self.key).arg(record);
        beat.arg("PX").arg(ttl).ignore();
        beat.cmd("SADD").arg(&self.index).arg(self.worker.as_str());
        beat.ignore();
        match self.ask(|connection| beat.query::<()>(connection)) {
            Ok(()) => {
                self.written = Some(record.to_vec());
                Ok(())
            }
            Err(Refusal::Broker(BrokerError::OutOfMemory)) => self.renew(ttl),
            Err(refusal) => Err(refusal.into()),
        }
    }

    fn leave(&mut self) -> Result<(), BrokerError> {
        let Some(written) = self.written.take() else {
            return Ok(());
        };
        let script = self.leave.clone();
        let key = self.key.clone();
        self.ask(|connection| script.key(&key).arg(&written).invoke::<()>(connection))?;
        Ok(())
    }
}
