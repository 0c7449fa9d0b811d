//! One server: where it is, and how to connect to it.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Connection, ConnectionAddr, IntoConnectionInfo, ProtocolVersion,
    RedisError,
};
use secrecy::{ExposeSecret, SecretString};

use super::config::RedisConfig;
use super::io::Io;
use super::refusal::{Refusal, judge};
use crate::broker::BrokerError;

/// A server and the time limits of talking to it.
pub(super) struct Endpoint {
    client: Client,
    /// Where it is, without a password.
    pub(super) server: String,
    /// True if it is on this machine.
    pub(super) is_loopback: bool,
    pub(super) response_timeout: Duration,
    connect_timeout: Duration,
    pub(super) retry_for: Duration,
}

impl Endpoint {
    pub(super) fn new(url: &SecretString, config: &RedisConfig) -> Result<Self, BrokerError> {
        let invalid = |error: RedisError| BrokerError::Config {
            // The text of the library's error is about the form of a url and does not quote it.
            reason: format!(
                "broker url does not read ({}): write redis://host:port or redis+unix:///path",
                error.category()
            ),
        };
        let info = url
            .expose_secret()
            .into_connection_info()
            .map_err(invalid)?;
        if !info.addr().is_supported() {
            return Err(BrokerError::Config {
                reason: "this build speaks to redis without tls: write redis://host:port, over a network of your own \
                         or a tunnel"
                    .to_owned(),
            });
        }
        let redis = info
            .redis_settings()
            .clone()
            .set_protocol(ProtocolVersion::RESP2);
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        let db = redis.db();
        let info = info.set_redis_settings(redis).set_tcp_settings(tcp);
        let (place, is_loopback) = place(info.addr());
        Ok(Self {
            client: Client::open(info).map_err(invalid)?,
            server: if db == 0 {
                place
            } else {
                format!("{place}/{db}")
            },
            is_loopback,
            response_timeout: config.response_timeout,
            connect_timeout: config.connect_timeout,
            retry_for: config.retry_for,
        })
    }

    /// Opens a connection that is served by the broker's own threads.
    pub(super) async fn connect(&self, io: &Io) -> Result<MultiplexedConnection, Refusal> {
        let client = self.client.clone();
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect_timeout))
            .set_response_timeout(Some(self.response_timeout));
        let opening = io.handle().spawn(async move {
            client
                .get_multiplexed_async_connection_with_config(&config)
                .await
        });
        match opening.await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) if error.is_timeout() => Err(self.no_connection()),
            Ok(Err(error)) => Err(self.judge(Duration::ZERO, &error)),
            Err(error) => Err(BrokerError::Unreachable {
                server: self.server.clone(),
                detail: format!("connecting was given up: {error}"),
            }
            .into()),
        }
    }

    /// Opens a blocking connection whose every step ends after `limit`.
    pub(super) fn connect_blocking(&self, limit: Duration) -> Result<Connection, Refusal> {
        let open = || -> Result<Connection, RedisError> {
            let connection = self.client.get_connection_with_timeout(limit)?;
            connection.set_read_timeout(Some(limit))?;
            connection.set_write_timeout(Some(limit))?;
            Ok(connection)
        };
        open().map_err(|error| self.judge(limit, &error))
    }

    fn no_connection(&self) -> Refusal {
        let limit = self.connect_timeout.as_millis();
        BrokerError::Unreachable {
            server: self.server.clone(),
            detail: format!("no connection within {limit} ms"),
        }
        .into()
    }

    /// Says what an error means for an exchange that had `limit`.
    pub(super) fn judge(&self, limit: Duration, error: &RedisError) -> Refusal {
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        judge(&self.server, limit_ms, error)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// The address as text, and whether it is on this machine.
fn place(address: &ConnectionAddr) -> (String, bool) {
    match address {
        ConnectionAddr::Tcp(host, port) => {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            let is_loopback =
                bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
            (format!("redis://{host}:{port}"), is_loopback)
        }
        ConnectionAddr::Unix(path) => (format!("redis+unix://{}", path.display()), true),
        other => (format!("rediss://{other}"), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str) -> Result<Endpoint, BrokerError> {
        let config = RedisConfig::new(url);
        Endpoint::new(&config.url, &config)
    }

    #[test]
    fn a_password_is_never_shown() {
        let url = "redis://user:hunter2@10.0.0.7:6400/3";
        let found = endpoint(url).unwrap();
        assert_eq!(found.server, "redis://10.0.0.7:6400/3");
        assert!(!format!("{found:?}").contains("hunter2"));
        assert!(!format!("{:?}", RedisConfig::new(url)).contains("hunter2"));
        let error = endpoint("redis://user:hunter2@host:notaport").unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }

    #[test]
    fn loopback_is_told_from_other_addresses() {
        for near in [
            "redis://127.0.0.1",
            "redis://localhost:1",
            "redis://[::1]:1",
            "redis+unix:///run/redis.sock",
        ] {
            assert!(endpoint(near).unwrap().is_loopback, "{near}");
        }
        for far in ["redis://10.0.0.7", "redis://redis:6379"] {
            assert!(!endpoint(far).unwrap().is_loopback, "{far}");
        }
    }

    #[test]
    fn other_urls_are_refused_with_advice() {
        for url in ["http://host", "host:6379", "rediss://host"] {
            let error = endpoint(url).unwrap_err().to_string();
            assert!(error.contains("redis://host:port"), "{url}: {error}");
        }
    }
}
