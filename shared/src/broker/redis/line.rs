//! A connection of one reader's own, on which a read may block.

use std::sync::Arc;
use std::time::Duration;

use redis::FromRedisValue;
use redis::aio::MultiplexedConnection;

use super::ask::Ask;
use super::endpoint::Endpoint;
use super::io::Io;
use super::link::Link;
use super::refusal::{Refusal, breaks_connection};

/// Dedicated connection to one server: opened when first used, and again after it broke.
#[derive(Debug)]
pub(super) struct Line {
    io: Arc<Io>,
    endpoint: Arc<Endpoint>,
    connection: Option<MultiplexedConnection>,
    /// True while an exchange is under way.
    is_asking: bool,
    /// True after an exchange that broke off.
    is_in_doubt: bool,
}

impl Line {
    /// A line to the same server as a link.
    pub(super) fn beside(link: &Link) -> Self {
        Self {
            io: Arc::clone(link.io()),
            endpoint: Arc::clone(link.endpoint()),
            connection: None,
            is_asking: false,
            is_in_doubt: false,
        }
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// True, once, if an exchange ended without its answer: the server may have carried it out.
    pub(super) fn take_doubt(&mut self) -> bool {
        self.settle();
        std::mem::take(&mut self.is_in_doubt)
    }

    /// Closes the connection of an exchange whose caller was dropped: its answer may still come.
    fn settle(&mut self) {
        if std::mem::take(&mut self.is_asking) {
            self.connection = None;
            self.is_in_doubt = true;
        }
    }

    /// Makes an exchange for which the server may take `block` longer than for others.
    pub(super) async fn ask<'a, T: FromRedisValue>(
        &mut self,
        ask: impl Into<Ask<'a>>,
        block: Duration,
    ) -> Result<T, Refusal> {
        self.settle();
        let limit = self.endpoint.response_timeout.saturating_add(block);
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => self
                .connection
                .insert(self.endpoint.connect(&self.io).await?),
        };
        connection.set_response_timeout(limit);
        // Stands until the answer is there: a caller that is dropped meanwhile leaves it standing.
        self.is_asking = true;
        let answer = ask.into().over(connection).await;
        self.is_asking = false;
        answer.map_err(|error| {
            if breaks_connection(&error) {
                self.connection = None;
                self.is_in_doubt = true;
            }
            self.endpoint.judge(limit, &error)
        })
    }
}
