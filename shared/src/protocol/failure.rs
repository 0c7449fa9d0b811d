//! Why a task failed, and what that means for the job.

use serde::{Deserialize, Serialize};

/// What a failure means: the job state machine decides by this alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The input is at fault: the job is rejected, no retry.
    Rejected,
    /// The attempt failed, another may succeed elsewhere.
    Attempt,
    /// The shipped payload is missing or damaged: synthesis runs again.
    BadPayload,
    /// Nothing was attempted (drain, no room, missing key on this worker): does not count against the unit.
    Infrastructure,
}

/// One failure of one attempt, as the user will read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFailure {
    /// What it means for the job.
    pub kind: FailureKind,
    /// Stable code such as `unsatisfied-constraint`.
    pub code: String,
    /// One sentence, lower case, that says what is wrong and what to do. Never holds witness data.
    pub message: String,
}

impl TaskFailure {
    /// Makes a failure of a kind.
    pub fn new(kind: FailureKind, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind,
            code: code.into(),
            message: message.into(),
        }
    }
}
