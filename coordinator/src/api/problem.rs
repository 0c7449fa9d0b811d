//! Refusals as clients see them: `application/problem+json` (RFC 9457) with a stable code and advice.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use actix_web::{HttpResponse, ResponseError};
use proofmill_shared::broker::Retryability;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::handle::CoordinatorError;

/// Seconds after which a client may ask again when the coordinator has no room or no broker.
const RETRY_AFTER_SECONDS: &str = "2";

/// A refusal (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Identity of the kind of problem: `urn:proofmill:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in a few words.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// What is wrong with this request.
    pub detail: String,
    /// Stable code for programs, such as `unknown-circuit`.
    pub code: String,
    /// What to do about it.
    pub advice: String,
}

macro_rules! problem_codes {
    ($($variant:ident: $code:literal, $status:literal, $title:literal, $advice:literal;)+) => {
        /// Every kind of problem. Codes are stable: programs match on them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ProblemCode {
            $(#[doc = $title] $variant,)+
        }

        impl ProblemCode {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The code as programs see it.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// HTTP status.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)+ }
            }

            const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }

            const fn advice(self) -> &'static str {
                match self { $(Self::$variant => $advice,)+ }
            }
        }
    };
}

problem_codes! {
    UnknownPath: "unknown-path", 404, "no such path", "see /openapi.json for the paths there are";
    WrongMethod: "wrong-method", 405, "method not allowed here", "use one of the methods in the Allow header";
    WrongHost: "wrong-host", 421, "host is not this server", "ask by 127.0.0.1, [::1] or localhost";
    ForeignOrigin: "foreign-origin", 403, "request comes from another site's page", "send the request from a program, or from a page of this server";
    BadPath: "bad-path", 400, "path does not read", "correct the id in the path";
    BadQuery: "bad-query", 400, "query does not read", "correct the query: /openapi.json lists its parameters";
    BadHeader: "bad-header", 400, "header does not read", "correct the header";
    BadBody: "bad-body", 400, "body does not read", "send a JSON object as /openapi.json describes it";
    BadMediaType: "bad-media-type", 415, "media type is not supported", "send application/json, or application/octet-stream for raw input";
    BodyTooLarge: "body-too-large", 413, "body is too large", "send a smaller input, or raise the coordinator's input limit";
    BodyTimeout: "body-timeout", 408, "body did not arrive in time", "send the request again over a faster connection";
    Busy: "busy", 503, "too many large requests at once", "send the request again in a moment";
    UnknownCircuit: "unknown-circuit", 422, "circuit is not registered", "use a circuit of GET /v1/circuits, or start a synth worker that has it";
    InputTooLarge: "input-too-large", 413, "input is too large", "send a smaller input, or raise the coordinator's input limit";
    DeadlinePassed: "deadline-passed", 422, "deadline is in the past", "send a deadline that lies ahead, such as \"10m\"";
    IdempotencyConflict: "idempotency-conflict", 409, "idempotency key is in use", "use a new key for a new request";
    UnknownJob: "unknown-job", 404, "job is not known", "check the id; ended jobs are forgotten after their retention";
    WrongState: "wrong-state", 409, "job is in another state", "read the job and decide by its state";
    QueueFull: "queue-full", 503, "too many jobs are queued", "send the request again later, or add workers";
    UnknownArtifact: "unknown-artifact", 404, "shape or key is not here", "make it with `proofmill params generate` on the coordinator's machine, or start a synth worker with store.source set";
    KeysNotServed: "keys-not-served", 403, "keys are not served", "set coordinator.serve_keys = true, or copy the params file into the keys folder of the machine that lacks it";
    OtherContent: "other-content", 412, "content has changed", "ask without If-Match and Range";
    BadArtifact: "bad-artifact", 422, "body is not what its path says", "send the file that `proofmill params generate` put into the shapes folder";
    StoreFault: "store-fault", 500, "store cannot be used", "read the coordinator's log and free or repair its disk";
    BrokerUnavailable: "broker-unavailable", 503, "broker does not answer", "send the request again: it is safe with an Idempotency-Key";
    BrokerFault: "broker-fault", 502, "broker cannot be used", "read the coordinator's log and correct the broker";
    Unavailable: "unavailable", 503, "coordinator takes no requests now", "send the request again: it is stopping, starting or standing by";
}

/// One refusal on its way to the client.
#[derive(Debug)]
pub(crate) struct Refusal {
    code: ProblemCode,
    detail: String,
    allow: Option<&'static str>,
}

impl Refusal {
    /// Refuses for a reason.
    pub(crate) fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            allow: None,
        }
    }

    /// Refuses a method, and names those allowed.
    pub(crate) fn wrong_method(method: &str, allow: &'static str) -> Self {
        Self {
            allow: Some(allow),
            ..Self::new(
                ProblemCode::WrongMethod,
                format!("{method} is not allowed here, {allow} are"),
            )
        }
    }

    fn problem(&self) -> Problem {
        Problem {
            kind: format!("urn:proofmill:problem:{}", self.code.code()),
            title: self.code.title().to_owned(),
            status: self.code.status(),
            detail: self.detail.clone(),
            code: self.code.code().to_owned(),
            advice: self.code.advice().to_owned(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.code(), self.detail)
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let status = self.status_code();
        if status.is_server_error() {
            tracing::warn!(code = self.code.code(), detail = %self.detail, "request refused");
        }
        let mut response = HttpResponse::build(status);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.insert_header((RETRY_AFTER, RETRY_AFTER_SECONDS));
        }
        if let Some(allow) = self.allow {
            response.insert_header((ALLOW, allow));
        }
        response
            .insert_header((CONTENT_TYPE, "application/problem+json"))
            .body(serde_json::to_string(&self.problem()).unwrap_or_default())
    }
}

impl From<CoordinatorError> for Refusal {
    fn from(error: CoordinatorError) -> Self {
        let code = match &error {
            CoordinatorError::UnknownCircuit { .. } => ProblemCode::UnknownCircuit,
            CoordinatorError::InputTooLarge { .. } => ProblemCode::InputTooLarge,
            CoordinatorError::DeadlinePassed => ProblemCode::DeadlinePassed,
            CoordinatorError::IdempotencyConflict { .. } => ProblemCode::IdempotencyConflict,
            CoordinatorError::UnknownJob { .. } => ProblemCode::UnknownJob,
            CoordinatorError::WrongState { .. } => ProblemCode::WrongState,
            CoordinatorError::QueueFull { .. } => ProblemCode::QueueFull,
            CoordinatorError::Unavailable => ProblemCode::Unavailable,
            CoordinatorError::Broker(cause) => match cause.retryability() {
                Retryability::Transient => ProblemCode::BrokerUnavailable,
                Retryability::Fatal => ProblemCode::BrokerFault,
            },
        };
        let detail = match &error {
            CoordinatorError::Broker(cause) => format!("{error}: {cause}"),
            _ => error.to_string(),
        };
        Self::new(code, detail)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_code_is_unique_and_has_an_error_status() {
        let codes: HashSet<_> = ProblemCode::ALL.iter().map(|code| code.code()).collect();
        assert_eq!(codes.len(), ProblemCode::ALL.len());
        assert!(
            ProblemCode::ALL
                .iter()
                .all(|code| (400..600).contains(&code.status()))
        );
    }
}
