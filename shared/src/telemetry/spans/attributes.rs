//! Attribute keys of spans, and what OpenTelemetry's messaging conventions ask of a span that sends or receives.

use super::{SpanKind, SpanRecord};
use crate::assignment::PayloadSizes;
use crate::protocol::TaskKey;

/// Unit of the job: `plan`, an index, or `finish`.
pub const UNIT: &str = "proofmill.unit";
/// Attempt, 1, 2, ….
pub const ATTEMPT: &str = "proofmill.attempt";
/// Fencing token of the attempt.
pub const TOKEN: &str = "proofmill.token";
/// Stage: `synthesis` or `proving`.
pub const STAGE: &str = "proofmill.stage";
/// Worker that did it.
pub const WORKER: &str = "proofmill.worker";
/// Circuit, `name@version`.
pub const CIRCUIT: &str = "proofmill.circuit";
/// Device it ran on.
pub const DEVICE: &str = "proofmill.device";
/// Bytes that travelled.
pub const BYTES: &str = "proofmill.bytes";
/// The same assignment at 32 bytes a scalar.
pub const RAW_BYTES: &str = "proofmill.raw_bytes";
/// Raw bytes over travelled bytes.
pub const RATIO: &str = "proofmill.ratio";
/// Chunks that travelled.
pub const CHUNKS: &str = "proofmill.chunks";
/// What travelled: `witness` or `evaluated`.
pub const MODE: &str = "proofmill.handoff.mode";
/// Blocks by encoding, such as `zero:0 bits:40 small:0 full:3 mixed:2`.
pub const ENCODING_MIX: &str = "proofmill.handoff.mix";
/// Megabytes (10^6 bytes) a second.
pub const MB_PER_S: &str = "proofmill.mb_per_s";
/// State in which a job ended.
pub const STATE: &str = "proofmill.state";
/// Stable code of a failure.
pub const CODE: &str = "proofmill.code";
/// By how many microseconds the span's start was moved, so that it does not precede its cause.
pub const ORDER_MENDED_MICROS: &str = "proofmill.order_mended_us";

/// Conventions' name of the system a message goes through.
const MESSAGING_SYSTEM: &str = "messaging.system";
const MESSAGING_DESTINATION: &str = "messaging.destination.name";
const MESSAGING_OPERATION_NAME: &str = "messaging.operation.name";
const MESSAGING_OPERATION_TYPE: &str = "messaging.operation.type";
const MESSAGING_BODY_SIZE: &str = "messaging.message.body.size";

/// What a span does with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessagingOperation {
    /// Sends it.
    Send,
    /// Takes it from its stream.
    Receive,
    /// Works on it.
    Process,
}

impl MessagingOperation {
    const fn operation_type(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Process => "process",
        }
    }

    const fn span_kind(self) -> SpanKind {
        match self {
            Self::Send => SpanKind::Producer,
            Self::Receive | Self::Process => SpanKind::Consumer,
        }
    }
}

/// The system messages go through, as [`crate::broker::Broker::describe`] names it: `memory` or `redis`.
#[must_use]
pub fn messaging_system(broker: &str) -> &'static str {
    if broker.contains("memory") {
        "memory"
    } else {
        "redis"
    }
}

impl SpanRecord {
    /// Adds the messaging conventions: system (`redis`, `memory`), destination stream, operation, size; sets the kind.
    #[must_use]
    pub fn messaging(
        self,
        system: &'static str,
        destination: impl Into<String>,
        operation: MessagingOperation,
        body_bytes: Option<u64>,
    ) -> Self {
        let name = operation.operation_type();
        let span = self
            .kind(operation.span_kind())
            .attribute(MESSAGING_SYSTEM, system)
            .attribute(MESSAGING_DESTINATION, destination.into())
            .attribute(MESSAGING_OPERATION_NAME, name)
            .attribute(MESSAGING_OPERATION_TYPE, name);
        match body_bytes {
            Some(bytes) => span.attribute(MESSAGING_BODY_SIZE, bytes),
            None => span,
        }
    }

    /// Adds what travelled of an assignment, and how large it was.
    #[must_use]
    pub fn payload(self, sizes: &PayloadSizes) -> Self {
        self.attribute(BYTES, sizes.bytes)
            .attribute(RAW_BYTES, sizes.raw_bytes)
            .attribute(RATIO, sizes.ratio())
            .attribute(CHUNKS, sizes.chunks)
            .attribute(MODE, sizes.mode.name())
            .attribute(ENCODING_MIX, sizes.mix.to_string())
    }

    /// Adds unit, stage, attempt and token of a task.
    #[must_use]
    pub fn task(self, key: &TaskKey) -> Self {
        self.attribute(UNIT, key.unit.to_string())
            .attribute(STAGE, key.stage.to_string())
            .attribute(ATTEMPT, key.attempt)
            .attribute(TOKEN, key.token.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::AttributeValue;
    use super::*;
    use crate::protocol::{JobId, UnixMicros};

    #[test]
    fn a_sending_span_follows_the_messaging_conventions() {
        let span = SpanRecord::new(
            "handoff.send",
            JobId::generate(),
            UnixMicros(1),
            UnixMicros(2),
        )
        .messaging("redis", "assignment", MessagingOperation::Send, Some(7));
        assert_eq!(span.kind, SpanKind::Producer);
        for (key, value) in [
            ("messaging.system", AttributeValue::from("redis")),
            ("messaging.destination.name", "assignment".into()),
            ("messaging.operation.type", "send".into()),
            ("messaging.message.body.size", 7u64.into()),
        ] {
            assert!(span.attributes.contains(&(key, value)), "{key}");
        }
    }
}
