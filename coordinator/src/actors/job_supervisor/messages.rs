//! What the supervisor receives.

use std::sync::Arc;

use actix::Message;
use proofmill_shared::protocol::{CircuitRecord, JobId, WorkerRecord};
use tokio::sync::oneshot;

use super::super::event_reader::ReadEvent;
use super::super::roster::LostLife;
use crate::handle::{CoordinatorError, Submitted};
use crate::job::JobRecord;
use crate::view::{JobView, WorkerView};

/// This coordinator leads (again): rebuild the state from the broker.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Lead;

/// What workers reported.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Reports {
    /// Events in the order they were read.
    pub(crate) events: Vec<ReadEvent>,
    /// Deliveries that do not read, to be acknowledged.
    pub(crate) unreadable: Vec<String>,
}

/// What a look at the heartbeats showed.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct RosterSeen {
    /// Workers that are there.
    pub(crate) live: Vec<Arc<WorkerRecord>>,
    /// Lives that are over.
    pub(crate) lost: Vec<LostLife>,
}

/// The registered circuits.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct CircuitsSeen {
    /// All of them.
    pub(crate) circuits: Vec<CircuitRecord>,
}

/// Stores a job and begins with it.
#[derive(Debug, Message)]
#[rtype(
    result = "Result<oneshot::Receiver<Result<Submitted, CoordinatorError>>, CoordinatorError>"
)]
pub(crate) struct AcceptJob {
    /// Its first record.
    pub(crate) record: JobRecord,
}

/// Asks for a job as it stands after everything heard so far; `None` if it has ended or is not known.
#[derive(Debug, Message)]
#[rtype(result = "Option<oneshot::Receiver<JobView>>")]
pub(crate) struct DescribeJob {
    /// The job.
    pub(crate) job: JobId,
}

/// Asks to be told when a job ends; `None` if it has ended or is not known.
#[derive(Debug, Message)]
#[rtype(result = "Option<oneshot::Receiver<JobView>>")]
pub(crate) struct AwaitEnd {
    /// The job.
    pub(crate) job: JobId,
}

/// Cancels a job; `None` if it has ended or is not known.
#[derive(Debug, Message)]
#[rtype(result = "Option<oneshot::Receiver<Result<JobView, CoordinatorError>>>")]
pub(crate) struct CancelJob {
    /// The job.
    pub(crate) job: JobId,
}

/// Asks for the live workers.
#[derive(Debug, Message)]
#[rtype(result = "Vec<WorkerView>")]
pub(crate) struct DescribeWorkers;

/// Waits until no job is being written, at most a while; nothing new is begun meanwhile.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Settle;

#[cfg(test)]
pub(crate) mod testing {
    //! What only tests ask.

    use actix::Message;

    /// Counts of what is queued, booked and in flight.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub(crate) struct Books {
        /// Jobs in memory.
        pub(crate) jobs: usize,
        /// Units queued.
        pub(crate) queued: usize,
        /// Credits booked.
        pub(crate) credits: usize,
        /// Assignments in flight.
        pub(crate) in_flight: usize,
    }

    /// Asks for the books.
    #[derive(Debug, Message)]
    #[rtype(result = "Books")]
    pub(crate) struct DescribeBooks;

    impl<A, M> actix::dev::MessageResponse<A, M> for Books
    where
        A: actix::Actor,
        M: Message<Result = Self>,
    {
        fn handle(self, _: &mut A::Context, tx: Option<actix::dev::OneshotSender<Self>>) {
            if let Some(tx) = tx {
                assert!(tx.send(self).is_ok(), "a test waits for its answer");
            }
        }
    }

    /// Panics in the handler.
    #[derive(Debug, Message)]
    #[rtype(result = "()")]
    pub(crate) struct PanicNow;
}
