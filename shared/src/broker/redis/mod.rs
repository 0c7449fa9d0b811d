//! The Redis Streams broker, for Redis 6.2 or later and Valkey.
//!
//! *Layout*: `config`; reaching a server: `endpoint` (where), `io` (threads), `link` (shared connection), `line` (a
//! reader's own connection), `ask`, `refusal` (what an error means), `retry`; what is said to it: `check`, `scripts`
//! (atomic steps), `leadership`, `inputs` and `sealing`, `jobs`, `indexes`, `marks`, `messages` and `reader` (streams with
//! acknowledgement), `payload` and `payload_reader`, `heartbeat`, `workers`, `timeline`, `entry`; `calls` (the trait).
//!
//! **Invariant**: what may be large or may block never shares a connection with what must be quick.

mod ask;
mod calls;
mod check;
mod config;
mod endpoint;
mod entry;
mod heartbeat;
mod indexes;
mod inputs;
mod io;
mod jobs;
mod leadership;
mod line;
mod link;
mod marks;
mod messages;
mod payload;
mod payload_reader;
mod reader;
mod refusal;
mod retry;
mod scripts;
mod sealing;
#[cfg(test)]
mod tests;
mod timeline;
mod workers;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use self::config::RedisConfig;
use self::endpoint::Endpoint;
use self::io::Io;
use self::link::Link;
use self::scripts::Scripts;
use self::sealing::Sealing;
use super::BrokerError;
use super::keys::Keys;

/// Broker over Redis or Valkey.
pub struct RedisBroker {
    keys: Keys,
    scripts: Arc<Scripts>,
    /// Small commands on the control server.
    control: Arc<Link>,
    /// Large values on the control server.
    bulk: Arc<Link>,
    /// Large values on the payload server; the same as `bulk` if there is one server.
    payload: Arc<Link>,
    /// Seals inputs and payload, where a cluster key is set.
    sealing: Option<Arc<Sealing>>,
    /// Numbers payload entries, so that a repeated append is recognised.
    next_entry: AtomicU64,
}

impl RedisBroker {
    /// Connects to the server, or says why that is not possible.
    ///
    /// # Errors
    /// [`BrokerError::Config`] for a URL or prefix that does not read; [`BrokerError::Unreachable`] if nothing answers
    /// within the configured time; [`BrokerError::Unsuitable`] if the server refuses this user.
    pub async fn connect(config: RedisConfig) -> Result<Arc<Self>, BrokerError> {
        let keys = Keys::new(&config.prefix)?;
        let io = Arc::new(Io::start()?);
        let endpoint = Arc::new(Endpoint::new(&config.url, &config)?);
        let link =
            |endpoint: &Arc<Endpoint>| Arc::new(Link::new(Arc::clone(&io), Arc::clone(endpoint)));
        let (control, bulk) = (link(&endpoint), link(&endpoint));
        let payload = match &config.payload_url {
            None => Arc::clone(&bulk),
            Some(url) => link(&Arc::new(Endpoint::new(url, &config)?)),
        };
        let version = check::version(&control).await?;
        let sealing = config
            .cluster_key
            .map(|key| Arc::new(Sealing::new(key, Arc::clone(&control), keys.clone())));
        Ok(Arc::new(Self {
            keys,
            scripts: Arc::new(Scripts::new(version.knows_script_flags())),
            control,
            bulk,
            payload,
            sealing,
            next_entry: AtomicU64::new(1),
        }))
    }
}

impl fmt::Debug for RedisBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBroker")
            .field("server", &self.control.endpoint().server)
            .field("payload_server", &self.payload.endpoint().server)
            .finish_non_exhaustive()
    }
}
