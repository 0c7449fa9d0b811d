//! Section `[broker]`: how every process reaches Redis.

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::raw::read;
use super::{ConfigError, RawConfig, Scalar};
use crate::broker::ClusterKey;

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
    cluster_key: Option<Scalar>,
    cluster_key_file: Option<Scalar>,
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
    /// `broker.cluster_key` (64 hexadecimal digits) or `broker.cluster_key_file` (a file that holds them): seals inputs and
    /// assignments, so that neither the network nor whoever reads Redis sees a witness. The same in every process.
    /// Default: none, which suits a Redis on this machine only.
    pub cluster_key: Option<Arc<ClusterKey>>,
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
            cluster_key: cluster_key(raw)?,
        };
        check_url(raw, "broker.url", &settings.url)?;
        if let Some(url) = &settings.payload_url {
            check_url(raw, "broker.payload_url", url)?;
        }
        Ok(settings)
    }
}

fn cluster_key(raw: &RawConfig) -> Result<Option<Arc<ClusterKey>>, ConfigError> {
    let text: Option<String> = read!(raw.broker.cluster_key)?;
    let file: Option<String> = read!(raw.broker.cluster_key_file)?;
    let (option, text) = match (text, file) {
        (None, None) => return Ok(None),
        (Some(text), None) => ("broker.cluster_key", text.into()),
        (None, Some(file)) => {
            let option = "broker.cluster_key_file";
            let text = std::fs::read_to_string(&file)
                .map_err(|error| raw.refuse(option, format!("{file} cannot be read: {error}")))?;
            (option, SecretString::from(text))
        }
        (Some(_), Some(_)) => {
            let reason = "broker.cluster_key_file is set as well: keep one of the two".to_owned();
            return Err(raw.refuse("broker.cluster_key", reason));
        }
    };
    let key = ClusterKey::from_hex(&text).map_err(|error| raw.refuse(option, error.to_string()))?;
    Ok(Some(Arc::new(key)))
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
