//! Section `[telemetry]`: what is logged, and how. Export of spans follows the standard `OTEL_*` variables.

use std::str::FromStr;

use serde::Deserialize;

use super::raw::read;
use super::{ConfigError, RawConfig, Scalar};

/// What is logged unless configured: the life of jobs and processes.
pub const LOG_DEFAULT: &str = "info";

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TelemetrySection {
    log: Option<Scalar>,
    log_format: Option<Scalar>,
}

/// What a log line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people: one line of text.
    #[default]
    Text,
    /// For programs: one JSON object a line.
    Json,
}

impl FromStr for LogFormat {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("expected text or json"),
        }
    }
}

/// What is logged, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// `telemetry.log`, in the environment `PROOFMILL_LOG`: a level or a filter such as `info,proofmill_shared=debug`. Default
    /// [`LOG_DEFAULT`].
    pub log: String,
    /// `telemetry.log_format`: `text` or `json`. Default `text`.
    pub log_format: LogFormat,
}

impl TelemetrySettings {
    /// Checks the section.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`] naming the key.
    pub fn from_raw(raw: &RawConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            log: read!(raw.telemetry.log)?.unwrap_or_else(|| LOG_DEFAULT.to_owned()),
            log_format: read!(raw.telemetry.log_format)?.unwrap_or_default(),
        })
    }
}
