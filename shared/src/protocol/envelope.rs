//! What surrounds every message: version, trace context, instant of sending.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::UnixMicros;

/// Version of everything in [`crate::protocol`]. A process reads its own version and the one before.
pub const PROTOCOL_VERSION: u16 = 1;

/// A message that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// The body is not the JSON this version writes.
    #[error("message does not read")]
    Malformed(#[source] serde_json::Error),
    /// Written by a process of another protocol version.
    #[error(
        "message has protocol version {found}, this process speaks {PROTOCOL_VERSION}: upgrade the older side"
    )]
    Version {
        /// The version the message carries.
        found: u16,
    },
}

/// W3C trace context of the span that sent a message, `00-<trace id>-<span id>-<flags>`.
///
/// A malformed one is treated as absent by whoever reads it: telemetry never decides about a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TraceContext {
    /// The sender's span, for a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// Span id of the job's root (16 hex digits): the parent of every span of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_span: Option<String>,
}

/// A message with its version, trace context and instant of sending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope<T> {
    /// [`PROTOCOL_VERSION`] of the sender.
    pub protocol: u16,
    /// Trace context of the sender.
    #[serde(default)]
    pub trace: TraceContext,
    /// When it was sent, on the cluster's clock.
    pub sent_at: UnixMicros,
    /// The message.
    pub body: T,
}

impl<T: Serialize> Envelope<T> {
    /// Wraps a message of this version.
    pub const fn new(body: T, trace: TraceContext, sent_at: UnixMicros) -> Self {
        Self {
            protocol: PROTOCOL_VERSION,
            trace,
            sent_at,
            body,
        }
    }

    /// Writes the message as bytes.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`] if the body cannot be written as JSON.
    pub fn encode(&self) -> Result<bytes::Bytes, ProtocolError> {
        serde_json::to_vec(self)
            .map(Into::into)
            .map_err(ProtocolError::Malformed)
    }
}

impl<T: DeserializeOwned> Envelope<T> {
    /// Reads a message.
    ///
    /// # Errors
    /// [`ProtocolError::Version`] if it is of a version this process does not speak, [`ProtocolError::Malformed`] if
    /// it does not read.
    pub fn decode(bytes: &[u8]) -> Result<Self, ProtocolError> {
        #[derive(Deserialize)]
        struct Head {
            protocol: u16,
        }
        let head: Head = serde_json::from_slice(bytes).map_err(ProtocolError::Malformed)?;
        if head.protocol == 0
            || head.protocol > PROTOCOL_VERSION
            || head.protocol + 1 < PROTOCOL_VERSION
        {
            return Err(ProtocolError::Version {
                found: head.protocol,
            });
        }
        serde_json::from_slice(bytes).map_err(ProtocolError::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_reads_back() {
        let sent = Envelope::new(7u32, TraceContext::default(), UnixMicros(5));
        assert_eq!(
            Envelope::<u32>::decode(&sent.encode().unwrap()).unwrap(),
            sent
        );
    }

    #[test]
    fn a_message_of_a_later_version_is_refused_by_name() {
        let bytes = br#"{"protocol":99,"sent_at":0,"body":{"unknown":true}}"#;
        assert!(matches!(
            Envelope::<u32>::decode(bytes),
            Err(ProtocolError::Version { found: 99 })
        ));
    }
}
