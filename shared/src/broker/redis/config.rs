//! How a Redis broker is reached.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use crate::broker::ClusterKey;
use crate::broker::keys::DEFAULT_PREFIX;
use crate::config::BrokerSettings;

/// Longest wait for an answer, on top of what a blocking read asks for. A server that pauses for a large write or a
/// fork answers within it; one that does not is treated as gone.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a call repeats itself while the server cannot be reached: a restart is survived within it, and a caller
/// learns of a longer absence.
const RETRY_FOR: Duration = Duration::from_secs(5);

/// How a Redis broker is reached.
#[derive(Debug, Clone)]
pub struct RedisConfig {
    /// `redis://[user:password@]host[:port][/db]` or `redis+unix:///path`: jobs, inboxes, events, inputs. Never shown.
    pub url: SecretString,
    /// A server of its own for payload (no persistence, own memory limit); absent for one server for everything.
    pub payload_url: Option<SecretString>,
    /// Seals inputs and payload; absent for a cluster whose servers and network are trusted.
    pub cluster_key: Option<Arc<ClusterKey>>,
    /// What every key begins with, so that clusters can share a server. Default `proofmill`.
    pub prefix: String,
    /// Longest wait for an answer, on top of what a blocking read asks for. Default 5 s.
    pub response_timeout: Duration,
    /// Longest wait for a connection. Default 2 s.
    pub connect_timeout: Duration,
    /// How long a call repeats itself while the server cannot be reached. Default 5 s.
    pub retry_for: Duration,
}

impl From<&BrokerSettings> for RedisConfig {
    /// The configured server; times as by default.
    fn from(settings: &BrokerSettings) -> Self {
        Self {
            url: settings.url.clone(),
            payload_url: settings.payload_url.clone(),
            cluster_key: settings.cluster_key.clone(),
            prefix: settings.prefix.clone(),
            ..Self::new(String::new())
        }
    }
}

impl RedisConfig {
    /// Everything as by default, for the server at `url`.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: SecretString::from(url.into()),
            payload_url: None,
            cluster_key: None,
            prefix: DEFAULT_PREFIX.to_owned(),
            response_timeout: RESPONSE_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            retry_for: RETRY_FOR,
        }
    }
}
