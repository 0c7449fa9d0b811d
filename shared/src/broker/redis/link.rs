//! A connection that many callers share, and that comes back by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use redis::FromRedisValue;
use redis::aio::MultiplexedConnection;
use tokio::sync::Mutex;

use super::ask::Ask;
use super::endpoint::Endpoint;
use super::io::Io;
use super::refusal::{Refusal, breaks_connection};
use super::retry::Patience;
use crate::broker::BrokerError;

/// Longest value a server accepts unless it says otherwise (`proto-max-bulk-len`): 512 MiB.
const DEFAULT_VALUE_BYTES_MAX: usize = 512 << 20;

/// Shared connection to one server.
#[derive(Debug)]
pub(super) struct Link {
    io: Arc<Io>,
    endpoint: Arc<Endpoint>,
    state: Mutex<State>,
    value_bytes_max: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    connection: Option<MultiplexedConnection>,
    /// Counts connections, so that an error of an old one does not end a new one.
    generation: u64,
    /// When and why connecting failed last.
    failed: Option<(Instant, String)>,
}

impl Link {
    pub(super) fn new(io: Arc<Io>, endpoint: Arc<Endpoint>) -> Self {
        Self {
            io,
            endpoint,
            state: Mutex::new(State::default()),
            value_bytes_max: AtomicUsize::new(DEFAULT_VALUE_BYTES_MAX),
        }
    }

    pub(super) const fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    pub(super) const fn io(&self) -> &Arc<Io> {
        &self.io
    }

    /// Longest value the server accepts.
    pub(super) fn value_bytes_max(&self) -> usize {
        self.value_bytes_max.load(Ordering::Relaxed)
    }

    pub(super) fn set_value_bytes_max(&self, bytes: usize) {
        self.value_bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Refuses a value that the server would answer by closing the connection.
    pub(super) fn fits(&self, value: &[u8]) -> Result<(), BrokerError> {
        let limit = self.value_bytes_max();
        if value.len() > limit {
            return Err(BrokerError::EntryTooLarge {
                bytes: value.len(),
                limit,
            });
        }
        Ok(())
    }

    /// Makes an exchange, repeated while the server cannot be reached.
    pub(super) async fn ask<'a, T: FromRedisValue>(
        &self,
        ask: impl Into<Ask<'a>>,
    ) -> Result<T, Refusal> {
        let ask = ask.into();
        let mut patience = self.patience();
        loop {
            match self.ask_once(ask).await {
                Ok(answer) => return Ok(answer),
                Err(refusal) => patience.or_give_up(refusal).await?,
            }
        }
    }

    /// How long calls repeat themselves.
    pub(super) fn patience(&self) -> Patience {
        Patience::lasting(self.endpoint.retry_for)
    }

    /// Makes an exchange once.
    pub(super) async fn ask_once<'a, T: FromRedisValue>(
        &self,
        ask: impl Into<Ask<'a>>,
    ) -> Result<T, Refusal> {
        let (mut connection, generation) = self.connection().await?;
        let error = match ask.into().over(&mut connection).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if breaks_connection(&error) {
            self.forget(generation).await;
        }
        Err(self.endpoint.judge(self.endpoint.response_timeout, &error))
    }

    async fn connection(&self) -> Result<(MultiplexedConnection, u64), Refusal> {
        let asked = Instant::now();
        let mut state = self.state.lock().await;
        if let Some(connection) = &state.connection {
            return Ok((connection.clone(), state.generation));
        }
        // Whoever waited while another caller connected in vain does not wait as long again.
        if let Some((at, why)) = &state.failed
            && *at > asked
        {
            return Err(BrokerError::Unreachable {
                server: self.endpoint.server.clone(),
                detail: why.clone(),
            }
            .into());
        }
        let connection = match self.endpoint.connect(&self.io).await {
            Ok(connection) => connection,
            Err(refusal) => {
                if let Refusal::Broker(BrokerError::Unreachable { detail, .. }) = &refusal {
                    state.failed = Some((Instant::now(), detail.clone()));
                }
                return Err(refusal);
            }
        };
        state.generation += 1;
        state.connection = Some(connection.clone());
        if state.generation > 1 {
            tracing::info!(server = %self.endpoint.server, "connected to the broker again");
        }
        Ok((connection, state.generation))
    }

    async fn forget(&self, generation: u64) {
        let mut state = self.state.lock().await;
        if state.generation == generation && state.connection.take().is_some() {
            tracing::warn!(server = %self.endpoint.server, "connection to the broker broke");
        }
    }
}
