//! Keys as they were written: every one optional, every value still text.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};

use super::ConfigError;
use super::broker::BrokerSection;
use super::coordinator::CoordinatorSection;
use super::gpu_worker::GpuWorkerSection;
use super::store::StoreSection;
use super::synth_worker::SynthWorkerSection;
use super::telemetry::TelemetrySection;

/// All sections of a configuration, with the origin of each key. The `…Settings` types check and give it units.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawConfig {
    pub(super) broker: BrokerSection,
    pub(super) coordinator: CoordinatorSection,
    pub(super) synth_worker: SynthWorkerSection,
    pub(super) gpu_worker: GpuWorkerSection,
    pub(super) telemetry: TelemetrySection,
    pub(super) store: StoreSection,
    /// Where each key was written that was written, by its path such as `broker.url`.
    #[serde(skip)]
    pub(super) origins: BTreeMap<String, String>,
}

/// A value as written: text, a number or a boolean, kept as text. `Debug` does not print it: it may be secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Scalar(String);

impl Scalar {
    /// The value as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scalar(..)")
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsText;

        impl Visitor<'_> for AsText {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number or a boolean")
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar(value.to_owned()))
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
        }

        deserializer.deserialize_any(AsText)
    }
}

impl RawConfig {
    /// Parses a value, if it was written.
    pub(super) fn parse<T>(
        &self,
        key: &str,
        value: Option<&Scalar>,
    ) -> Result<Option<T>, ConfigError>
    where
        T: FromStr,
        T::Err: fmt::Display,
    {
        value
            .map(|value| {
                value
                    .as_str()
                    .parse()
                    .map_err(|error: T::Err| self.refuse(key, error))
            })
            .transpose()
    }

    /// Checks that a number lies within its limits.
    pub(super) fn within<T>(
        &self,
        key: &str,
        value: T,
        limits: std::ops::RangeInclusive<T>,
    ) -> Result<T, ConfigError>
    where
        T: PartialOrd + fmt::Display,
    {
        if limits.contains(&value) {
            return Ok(value);
        }
        let (least, most) = limits.into_inner();
        Err(self.refuse(key, format_args!("expected {least} to {most}")))
    }

    /// The error for a value that does not fit its key.
    pub(super) fn refuse(&self, key: &str, reason: impl fmt::Display) -> ConfigError {
        ConfigError::BadValue {
            key: key.to_owned(),
            origin: self
                .origins
                .get(key)
                .cloned()
                .unwrap_or_else(|| "the defaults".to_owned()),
            reason: reason.to_string(),
        }
    }
}

/// Reads `raw.section.key` and names the key in the error.
macro_rules! read {
    ($raw:ident . $section:ident . $key:ident) => {
        $raw.parse(
            concat!(stringify!($section), ".", stringify!($key)),
            $raw.$section.$key.as_ref(),
        )
    };
}
pub(super) use read;
