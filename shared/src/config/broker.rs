//! Section `[broker]`: how every process reaches Redis.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::raw::read;
use super::{ConfigError, RawConfig, Scalar};

/// Where Redis is sought unless configured: its own default, on this machine.
pub const URL_DEFAULT: &str = "redis://127.0.0.1:6379";

/// Start of all Redis key names unless configured; another one runs a second cluster on the same server.
pub const PREFIX_DEFAULT: &str = "proofmill";

/// Longest prefix, in characters: it is part of every key name.
pub const PREFIX_LEN_MAX: usize = 64;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct BrokerSection {
    url: Option<Scalar>,
    payload_url: Option<Scalar>,
    prefix: Option<Scalar>,
}

/// How the broker is reached.
#[derive(Debug, Clone)]
pub struct BrokerSettings {
    /// `broker.url`: Redis that holds jobs and streams; may hold a password. Default [`URL_DEFAULT`].
    pub url: SecretString,
    /// `broker.payload_url`: Redis that holds assignments. Apart from the control Redis it can have its own memory limit
    /// and no persistence. Default: the same server.
    pub payload_url: Option<SecretString>,
    /// `broker.prefix`: start of all key names, 1 to [`PREFIX_LEN_MAX`] of `a-z A-Z 0-9 . _ -`. Default
    /// [`PREFIX_DEFAULT`].
    pub prefix: String,
}

impl BrokerSettings {
    /// Checks the section.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`] naming the key.
    pub fn from_raw(raw: &RawConfig) -> Result<Self, ConfigError> {
        let url = read!(raw.broker.url)?.unwrap_or_else(|| URL_DEFAULT.to_owned());
        let payload_url: Option<String> = read!(raw.broker.payload_url)?;
        let prefix: String = read!(raw.broker.prefix)?.unwrap_or_else(|| PREFIX_DEFAULT.to_owned());
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if prefix.is_empty() || prefix.len() > PREFIX_LEN_MAX || !prefix.chars().all(legal) {
            let reason = format!("expected 1 to {PREFIX_LEN_MAX} characters of a-z A-Z 0-9 . _ -");
            return Err(raw.refuse("broker.prefix", reason));
        }
        let settings = Self {
            url: url.into(),
            payload_url: payload_url.map(Into::into),
            prefix,
        };
        check_url(raw, "broker.url", &settings.url)?;
        if let Some(url) = &settings.payload_url {
            check_url(raw, "broker.payload_url", url)?;
        }
        Ok(settings)
    }
}

/// The scheme alone is checked here: the rest is the client library's business, and it says what is wrong.
fn check_url(raw: &RawConfig, key: &str, url: &SecretString) -> Result<(), ConfigError> {
    let known = [
        "redis://",
        "rediss://",
        "valkey://",
        "valkeys://",
        "unix://",
        "redis+unix://",
    ];
    if known
        .iter()
        .any(|scheme| url.expose_secret().starts_with(scheme))
    {
        return Ok(());
    }
    Err(raw.refuse(key, "expected a url such as redis://127.0.0.1:6379"))
}
