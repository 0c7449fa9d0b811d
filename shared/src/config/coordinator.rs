//! Section `[coordinator]`.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;

use super::identity::id_or_default;
use super::raw::read;
use super::{ByteSize, ConfigError, HumanDuration, RawConfig, Scalar};
use crate::protocol::WorkerId;

/// Where the HTTP API listens unless configured: this machine only.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:7311";

/// Assignments synthesized or being synthesized ahead of each device unless configured: one in proof, one decoded behind
/// it, one on its way.
pub const LOOKAHEAD_DEFAULT: u32 = 3;

/// Largest lookahead: past this, memory is spent and nothing gained.
pub const LOOKAHEAD_MAX: u32 = 64;

/// How long ended jobs are kept unless configured: long enough to ask for a proof the next morning.
pub const RETENTION_DEFAULT: Duration = Duration::from_secs(24 * 3600);

/// Longest retention that a server's expiry can be trusted with: ten years.
const RETENTION_MAX: Duration = Duration::from_secs(3650 * 24 * 3600);

/// Largest input of a job unless configured: far above the inputs of the built-in circuits, far below what hurts a broker.
pub const INPUT_BYTES_MAX_DEFAULT: ByteSize = ByteSize::mebibytes(64);

/// Jobs that may wait unless configured: each costs the coordinator a few KiB.
pub const QUEUE_MAX_DEFAULT: u32 = 100_000;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CoordinatorSection {
    id: Option<Scalar>,
    listen: Option<Scalar>,
    insecure_http: Option<Scalar>,
    serve_keys: Option<Scalar>,
    lookahead: Option<Scalar>,
    payload_budget: Option<Scalar>,
    retention: Option<Scalar>,
    input_bytes_max: Option<Scalar>,
    queue_max: Option<Scalar>,
}

/// How the coordinator runs.
#[derive(Debug, Clone)]
pub struct CoordinatorSettings {
    /// `coordinator.id`: who holds the lead, for people. Default: host, role and four digits.
    pub id: WorkerId,
    /// `coordinator.listen`: address of the HTTP API; port 0 takes a free one. Default [`LISTEN_DEFAULT`].
    pub listen: SocketAddr,
    /// `coordinator.insecure_http`: true allows an address that other machines reach, without keys and without TLS, for
    /// use behind a proxy that checks its clients. Default false.
    pub is_insecure_allowed: bool,
    /// `coordinator.serve_keys`: true gives proving keys to workers that lack them (`store.source`); they are large, and
    /// whoever reaches the API can have them. Default false.
    pub is_key_served: bool,
    /// `coordinator.lookahead`: assignments in synthesis or waiting per device, 1 to [`LOOKAHEAD_MAX`]. More hides slower
    /// synthesis, and fills the broker's memory. Default [`LOOKAHEAD_DEFAULT`].
    pub lookahead: u32,
    /// `coordinator.payload_budget`: bytes of assignments in flight, all together. Default: what the payload server's
    /// memory limit leaves.
    pub payload_budget: Option<ByteSize>,
    /// `coordinator.retention`: how long ended jobs, proofs and timelines are kept. Default [`RETENTION_DEFAULT`].
    pub retention: Duration,
    /// `coordinator.input_bytes_max`: largest input of a job. Default [`INPUT_BYTES_MAX_DEFAULT`].
    pub input_bytes_max: ByteSize,
    /// `coordinator.queue_max`: jobs that may wait; further ones are refused until some end. Default
    /// [`QUEUE_MAX_DEFAULT`].
    pub queue_max: u32,
}

impl CoordinatorSettings {
    /// Checks the section.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`] naming the key.
    pub fn from_raw(raw: &RawConfig) -> Result<Self, ConfigError> {
        let listen = match raw.coordinator.listen.as_ref() {
            None => LISTEN_DEFAULT.parse(),
            Some(text) => text.as_str().parse(),
        }
        .map_err(|_| {
            raw.refuse(
                "coordinator.listen",
                "expected an address and a port such as 127.0.0.1:7311",
            )
        })?;
        let retention: Option<HumanDuration> = read!(raw.coordinator.retention)?;
        let retention = retention.map_or(RETENTION_DEFAULT, HumanDuration::get);
        if retention < Duration::from_secs(1) || retention > RETENTION_MAX {
            return Err(raw.refuse("coordinator.retention", "expected 1s to 3650d"));
        }
        let lookahead = read!(raw.coordinator.lookahead)?.unwrap_or(LOOKAHEAD_DEFAULT);
        let queue_max = read!(raw.coordinator.queue_max)?.unwrap_or(QUEUE_MAX_DEFAULT);
        Ok(Self {
            id: id_or_default(
                raw,
                "coordinator.id",
                raw.coordinator.id.as_ref(),
                "coordinator",
            )?,
            listen,
            is_insecure_allowed: read!(raw.coordinator.insecure_http)?.unwrap_or(false),
            is_key_served: read!(raw.coordinator.serve_keys)?.unwrap_or(false),
            lookahead: raw.within("coordinator.lookahead", lookahead, 1..=LOOKAHEAD_MAX)?,
            payload_budget: read!(raw.coordinator.payload_budget)?,
            retention,
            input_bytes_max: read!(raw.coordinator.input_bytes_max)?
                .unwrap_or(INPUT_BYTES_MAX_DEFAULT),
            queue_max: raw.within("coordinator.queue_max", queue_max, 1..=u32::MAX)?,
        })
    }
}
