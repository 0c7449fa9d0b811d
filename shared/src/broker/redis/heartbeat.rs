//! A worker's heartbeat: blocking calls on a connection of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{Connection, RedisError, cmd};

use super::endpoint::Endpoint;
use super::leadership::millis;
use super::refusal::{Refusal, breaks_connection};
use super::scripts::Scripts;
use crate::broker::keys::Keys;
use crate::broker::{BrokerError, HeartbeatLine};
use crate::protocol::WorkerId;

/// Longest wait for each step of a beat: well under the time after which a silent worker counts as lost.
const STEP_LIMIT: Duration = Duration::from_secs(1);

/// See [`HeartbeatLine`].
pub(super) struct RedisHeartbeat {
    endpoint: Arc<Endpoint>,
    connection: Option<Connection>,
    scripts: Arc<Scripts>,
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
        scripts: Arc<Scripts>,
        keys: &Keys,
        worker: &WorkerId,
    ) -> Self {
        Self {
            endpoint,
            connection: None,
            scripts,
            worker: worker.clone(),
            key: keys.worker(worker),
            index: keys.workers(),
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

    /// Writes the record, and lists the worker in case it was taken for dead.
    fn write(&mut self, record: &[u8], ttl: u64) -> Result<(), Refusal> {
        let scripts = Arc::clone(&self.scripts);
        let mut beat = scripts.beat.prepare_invoke();
        beat.key(&self.key).arg(record).arg(ttl);
        self.ask(|connection| beat.invoke::<()>(connection))?;
        self.written = Some(record.to_vec());
        let mut enlist = scripts.enlist.prepare_invoke();
        enlist.key(&self.index).arg(self.worker.as_str());
        self.ask(|connection| enlist.invoke::<()>(connection))
    }

    /// Renews the record that is there: all that a full server before Redis 7 allows.
    fn renew(&mut self, ttl: u64) -> Result<(), BrokerError> {
        let mut renew = cmd("PEXPIRE");
        renew.arg(&self.key).arg(ttl);
        let was_there: bool = self.ask(|connection| renew.query(connection))?;
        if was_there {
            Ok(())
        } else {
            Err(BrokerError::OutOfMemory)
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
        match self.write(record, ttl) {
            Err(Refusal::Broker(BrokerError::OutOfMemory)) => self.renew(ttl),
            written => Ok(written?),
        }
    }

    fn leave(&mut self) -> Result<(), BrokerError> {
        let Some(written) = self.written.take() else {
            return Ok(());
        };
        let scripts = Arc::clone(&self.scripts);
        let mut leave = scripts.leave.prepare_invoke();
        leave.key(&self.key).arg(&written);
        Ok(self.ask(|connection| leave.invoke::<()>(connection))?)
    }
}
