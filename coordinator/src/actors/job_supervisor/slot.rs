//! A job in the supervisor's hands: at rest, or being advanced while further inputs wait.

use std::collections::VecDeque;

use proofmill_shared::protocol::UnixMicros;
use tokio::sync::oneshot;

use super::super::event_reader::ReadEvent;
use crate::handle::CoordinatorError;
use crate::job::{Job, JobEvent, LossCause, WorkerLife};
use crate::scheduler::UnitStage;
use crate::view::JobView;

/// Something to do about a job, in the order it came.
#[derive(Debug)]
pub(super) enum Input {
    /// An event that needs nothing read first.
    Event(JobEvent),
    /// What a worker reported.
    Report(ReadEvent),
    /// The life of a worker that has an attempt is over, or the attempt is: its marks are looked at first.
    Lost {
        what: UnitStage,
        by: WorkerLife,
        cause: LossCause,
    },
    /// The marks of its live attempts are to be looked at.
    CheckMarks,
    /// Somebody else may have written it: read it anew first.
    Reload,
    /// A client cancels it.
    Cancel(oneshot::Sender<Result<JobView, CoordinatorError>>),
    /// A client asks for it.
    Describe(oneshot::Sender<JobView>),
}

/// Where a job is.
#[derive(Debug)]
pub(super) enum Rest {
    /// At rest, with its version.
    Here(Box<Job>, u64),
    /// Being advanced.
    Away,
    /// In the broker only, to be read before its next step.
    Unread,
}

/// One job.
#[derive(Debug)]
pub(super) struct JobSlot {
    /// Where the job is.
    pub(super) rest: Rest,
    /// What waits for it.
    pub(super) inbox: VecDeque<Input>,
    /// Who wants to know when it ends.
    pub(super) waiters: Vec<oneshot::Sender<JobView>>,
    /// When something last happened to it.
    pub(super) touched_at: UnixMicros,
    /// Its deadline, as it is in the deadline index.
    pub(super) deadline: Option<UnixMicros>,
    /// True while it waits for its turn to be advanced.
    pub(super) is_runnable: bool,
}

impl JobSlot {
    pub(super) fn new(job: Job, version: u64, now: UnixMicros) -> Self {
        Self {
            deadline: job.record().deadline,
            rest: Rest::Here(Box::new(job), version),
            inbox: VecDeque::new(),
            waiters: Vec::new(),
            touched_at: now,
            is_runnable: false,
        }
    }

    /// The job, if nothing is under way or waiting for it.
    pub(super) fn settled(&self) -> Option<&Job> {
        match &self.rest {
            Rest::Here(job, _) if self.inbox.is_empty() => Some(job),
            Rest::Here(..) | Rest::Away | Rest::Unread => None,
        }
    }
}
