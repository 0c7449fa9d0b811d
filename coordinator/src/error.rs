//! Why the coordinator process ends, and the exit code that says so.

use std::error::Error;

use proofmill_shared::broker::{BrokerError, Retryability};
use proofmill_shared::config::ConfigError;
use proofmill_shared::telemetry::TelemetryError;

use crate::actors::CoordinatorEnd;
use crate::api::ServeError;

/// Why the coordinator process failed.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The configuration is refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Spans cannot be exported as configured.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// The broker cannot be used.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// The API cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The API's server broke down.
    #[error("http server ended by itself")]
    Server(#[source] std::io::Error),
    /// Signals cannot be received.
    #[error("cannot listen for signals")]
    Signals(#[source] std::io::Error),
    /// The coordinator ended without being asked to.
    #[error("coordinator ended: {}", describe(.0))]
    Ended(CoordinatorEnd),
}

impl ProcessError {
    /// The whole message, for people.
    #[must_use]
    pub fn message(&self) -> String {
        with_causes(self)
    }

    /// Exit code: 1 failed, 2 usage or configuration, 4 broker unreachable.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Telemetry(_) | Self::Serve(_) => 2,
            Self::Broker(error) => match error.retryability() {
                Retryability::Transient => 4,
                Retryability::Fatal => 2,
            },
            Self::Server(_) | Self::Signals(_) | Self::Ended(_) => 1,
        }
    }
}

/// An error with the causes behind it, where it does not say the same already.
fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(behind) = cause {
        let text = behind.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = behind.source();
    }
    message
}

fn describe(end: &CoordinatorEnd) -> String {
    match end {
        CoordinatorEnd::Stopped => "it was stopped".to_owned(),
        CoordinatorEnd::Deposed => {
            "another coordinator leads; start this one again to stand by".to_owned()
        }
        CoordinatorEnd::Panicked { part } => format!("{part} panicked; the log says why"),
        CoordinatorEnd::Broker { reason } => format!("the broker cannot be used: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_tell_configuration_from_an_absent_broker() {
        let unreachable = BrokerError::Unreachable {
            server: "redis://127.0.0.1:1".to_owned(),
            detail: "connection refused".to_owned(),
        };
        let unsuitable = BrokerError::Unsuitable {
            server: "redis://127.0.0.1:1".to_owned(),
            reason: "maxmemory-policy is allkeys-lru".to_owned(),
        };
        assert_eq!(ProcessError::from(unreachable).exit_code(), 4);
        assert_eq!(ProcessError::from(unsuitable).exit_code(), 2);
        assert_eq!(ProcessError::from(ConfigError::NoHome).exit_code(), 2);
        assert_eq!(ProcessError::Ended(CoordinatorEnd::Deposed).exit_code(), 1);
    }
}
