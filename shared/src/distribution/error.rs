//! Why a shape or key does not come.

use std::io;
use std::path::PathBuf;

use reqwest::StatusCode;

use super::Artifact;

/// Longest part of a refusal that is shown, in characters.
const ANSWER_SHOWN_MAX: usize = 500;

/// Why a shape or key does not come.
#[derive(Debug, thiserror::Error)]
pub enum DistributionError {
    /// The address is none.
    #[error(
        "{url:?} is not the address of a coordinator: expected one such as http://coordinator:7311"
    )]
    BadUrl {
        /// What was given.
        url: String,
    },
    /// There is no HTTP client.
    #[error("HTTP client does not start: {reason}")]
    NoClient {
        /// What the library says.
        reason: String,
    },
    /// Nothing answers, or the connection broke again and again.
    #[error(
        "coordinator at {url} cannot be reached for shapes and keys ({reason}): correct store.source"
    )]
    Unreachable {
        /// Where it was sought.
        url: String,
        /// What the connection said.
        reason: String,
    },
    /// The coordinator does not have it, or does not give it.
    #[error("coordinator does not give {artifact} (status {status}): {answer}")]
    Refused {
        /// What was asked for.
        artifact: Artifact,
        /// HTTP status.
        status: u16,
        /// What the coordinator said.
        answer: String,
    },
    /// What came is not what was asked for.
    #[error("{artifact} came damaged: {reason}; it will be fetched anew")]
    Damaged {
        /// What was asked for.
        artifact: Artifact,
        /// What is wrong.
        reason: String,
    },
    /// More bytes than any such thing has.
    #[error("{artifact} has more than {limit} bytes")]
    TooLarge {
        /// What was asked for.
        artifact: Artifact,
        /// The limit.
        limit: u64,
    },
    /// The file system refused.
    #[error("store cannot use {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl DistributionError {
    pub(super) fn refused(artifact: Artifact, status: StatusCode, answer: Option<String>) -> Self {
        let answer = answer.unwrap_or_default();
        // The API's refusals say what to do in `advice`; others are shown as they are.
        let said = serde_json::from_str::<serde_json::Value>(&answer).ok();
        let field = |name: &str| said.as_ref().and_then(|said| said[name].as_str());
        let answer = match (field("detail"), field("advice")) {
            (Some(detail), Some(advice)) => format!("{detail}: {advice}"),
            _ => answer.chars().take(ANSWER_SHOWN_MAX).collect(),
        };
        Self::Refused {
            artifact,
            status: status.as_u16(),
            answer,
        }
    }
}
