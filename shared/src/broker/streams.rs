//! Reading from a broker: deliveries that wait for acknowledgement, payload entries, and the heartbeat line.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::BrokerError;

/// One message with the id by which it is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Id within its stream.
    pub id: String,
    /// How often it was delivered, 1 for the first time.
    pub delivery_count: u32,
    /// The message.
    pub body: Bytes,
}

/// A consumer of one stream, on a connection of its own.
///
/// **Contract**: never drop a `read` before it answers (no `select!`): the server may have delivered. Deliveries that
/// were read and not acknowledged come again to the next reader of the same stream.
#[async_trait]
pub trait StreamReader: Send + fmt::Debug {
    /// Waits up to `block` for messages, and answers with at most `max`, possibly none.
    async fn read(&mut self, max: usize, block: Duration) -> Result<Vec<Delivery>, BrokerError>;

    /// Acknowledges for good, and removes the messages from the stream.
    async fn ack(&mut self, ids: &[String]) -> Result<(), BrokerError>;
}

/// One entry of an assignment stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayloadEntry {
    /// A piece of the encoded assignment. Duplicates (a repeated write) carry the same index and bytes.
    Chunk {
        /// Index from 0.
        index: u32,
        /// The piece.
        bytes: Bytes,
    },
    /// The last entry: the list that makes the chunks readable.
    Manifest(Bytes),
}

/// Reads an assignment stream from its start; consumes nothing, so that any attempt can read it again.
#[async_trait]
pub trait PayloadReader: Send + fmt::Debug {
    /// Waits up to `block` for the next entries, and answers with those that are there, possibly none.
    async fn read(&mut self, block: Duration) -> Result<Vec<PayloadEntry>, BrokerError>;
}

/// A worker's heartbeat: blocking calls on a connection of its own, for a thread of its own, so that a busy CPU or a
/// blocked connection never looks like death.
pub trait HeartbeatLine: Send + fmt::Debug {
    /// Renews the worker's record for `ttl`.
    ///
    /// # Errors
    /// The [`BrokerError`] of the server or the connection; the line reconnects by itself at the next call.
    fn beat(&mut self, record: &[u8], ttl: Duration) -> Result<(), BrokerError>;

    /// Removes the worker's record: it left by itself.
    ///
    /// # Errors
    /// As [`HeartbeatLine::beat`].
    fn leave(&mut self) -> Result<(), BrokerError>;
}
