//! What the exit code says.

use std::process::ExitCode;

use proofmill_coordinator::view::JobState;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Ok = 0,
    /// Tried and failed.
    Failed = 1,
    /// The command or the configuration is wrong.
    Usage = 2,
    /// The input is at fault.
    Rejected = 3,
    /// The coordinator cannot be reached or takes no requests now.
    Unreachable = 4,
    /// The time was up first.
    TimedOut = 5,
}

impl Exit {
    /// What waiting for a job gave.
    pub(crate) const fn of_job(state: JobState) -> Self {
        match state {
            JobState::Succeeded => Self::Ok,
            JobState::Failed | JobState::Cancelled => Self::Failed,
            JobState::Rejected => Self::Rejected,
            JobState::Expired
            | JobState::Accepted
            | JobState::Planning
            | JobState::Running
            | JobState::Finishing => Self::TimedOut,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
