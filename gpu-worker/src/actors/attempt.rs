//! One proving attempt on its way through the actors: its task, its ticket, its journal.

use proofmill_shared::broker::PayloadKey;
use proofmill_shared::membership::{AttemptJournal, Ticket};
use proofmill_shared::protocol::{ProveTask, TaskFailure, WorkerEvent};

/// One proving attempt. Whoever holds it owes the coordinator its end.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) task: ProveTask,
    pub(crate) ticket: Ticket,
    pub(crate) journal: AttemptJournal,
}

impl Attempt {
    /// Where the assignment lies.
    pub(crate) const fn payload(&self) -> PayloadKey {
        PayloadKey {
            job: self.task.key.job,
            partition: self.task.partition,
            attempt: self.task.payload_attempt,
        }
    }

    /// Ends the attempt as failed.
    pub(crate) async fn fail(mut self, failure: TaskFailure) {
        tracing::warn!(
            job = %self.task.key.job, partition = self.task.partition, attempt = self.task.key.attempt,
            code = failure.code, reason = failure.message, "proving attempt failed"
        );
        self.journal.emit(WorkerEvent::Failed(failure)).await;
        self.ticket.settle();
    }

    /// Gives the task back unstarted.
    pub(crate) async fn release(mut self) {
        self.journal.emit(WorkerEvent::Released).await;
        self.ticket.settle();
    }

    /// Ends an attempt that is no longer wanted: its token was raised or its job is over.
    pub(crate) fn abandon(self, why: &str) {
        tracing::info!(
            job = %self.task.key.job, partition = self.task.partition, attempt = self.task.key.attempt, why,
            "proving attempt abandoned"
        );
        self.ticket.settle();
    }
}
