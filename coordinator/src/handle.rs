//! What everyone outside the actors sees of them.

use std::sync::Arc;
use std::time::Duration;

use actix::MailboxError;
use futures::{StreamExt, TryStreamExt};
use proofmill_shared::broker::BrokerError;
use proofmill_shared::protocol::{CircuitRecord, JobId, PartitionProof, Unit};
use proofmill_shared::telemetry::TimelineRecord;
use serde::de::DeserializeOwned;
use tokio::sync::broadcast;

use crate::actors::{
    AwaitEnd, CancelJob, CoordinatorEnd, DescribeJob, DescribeWorkers, Running, Site, decode_all,
    read_job,
};
use crate::job::Job;
use crate::view::{JobProof, JobRequest, JobState, JobView, WorkerView};

/// Why the coordinator refuses a call.
#[derive(Debug, thiserror::Error)]
pub enum CoordinatorError {
    /// No worker has registered such a circuit.
    #[error("circuit {circuit} is not registered: known are {known}")]
    UnknownCircuit {
        /// What was asked for.
        circuit: String,
        /// What there is.
        known: String,
    },
    /// The input is larger than the limit.
    #[error("input of {bytes} bytes is larger than the limit of {limit} bytes")]
    InputTooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The deadline is already past.
    #[error("deadline is in the past: the job could never be of use")]
    DeadlinePassed,
    /// The idempotency key was used with another request.
    #[error("idempotency key was used for job {job} with another request: use a new key")]
    IdempotencyConflict {
        /// The job it is bound to.
        job: JobId,
    },
    /// No such job (any more).
    #[error("job {job} is not known: it never was, or its retention is over")]
    UnknownJob {
        /// What was asked for.
        job: JobId,
    },
    /// The call needs another state.
    #[error("job {job} is {state:?}: {needs}")]
    WrongState {
        /// The job.
        job: JobId,
        /// Where it stands.
        state: JobState,
        /// What the call needs.
        needs: &'static str,
    },
    /// Too many jobs wait.
    #[error("{queued} jobs are queued, the limit is {limit}: try again later")]
    QueueFull {
        /// How many wait.
        queued: usize,
        /// The limit.
        limit: usize,
    },
    /// The broker does not answer.
    #[error("broker call failed")]
    Broker(#[from] proofmill_shared::broker::BrokerError),
    /// The coordinator is shutting down, or does not lead.
    #[error("coordinator is stopping or not leading: try again")]
    Unavailable,
}

/// A change of a job, as server-sent events carry it.
#[derive(Debug, Clone)]
pub struct JobChange {
    /// The job.
    pub job: JobId,
    /// Where it stands now.
    pub view: std::sync::Arc<JobView>,
}

/// What became of a submission.
#[derive(Debug, Clone, PartialEq)]
pub struct Submitted {
    /// The job.
    pub view: JobView,
    /// False if the idempotency key named a job that was there already.
    pub is_new: bool,
}

/// Reads of the broker that one call makes at a time.
const READS_AT_A_TIME: usize = 16;

/// Cheap handle of a running coordinator: the actors' channels stay behind it.
#[derive(Debug, Clone)]
pub struct CoordinatorHandle {
    /// Absent only where nothing stands behind the handle (tests of the API).
    running: Option<Arc<Running>>,
}

impl CoordinatorHandle {
    pub(crate) fn of(running: Running) -> Self {
        Self {
            running: Some(Arc::new(running)),
        }
    }

    #[cfg(test)]
    pub(crate) const fn detached() -> Self {
        Self { running: None }
    }

    /// Accepts a job: durable before it answers.
    ///
    /// # Errors
    /// Every [`CoordinatorError`] but the ones about unknown jobs.
    pub async fn submit(&self, request: JobRequest) -> Result<Submitted, CoordinatorError> {
        crate::submission::submit(self.running()?, request).await
    }

    /// Reads a job.
    ///
    /// # Errors
    /// [`CoordinatorError::UnknownJob`], [`CoordinatorError::Broker`].
    pub async fn job(&self, job: JobId) -> Result<JobView, CoordinatorError> {
        let running = self.running()?;
        // A job that has not ended is known best by whoever changes it; any other one is read, leading or not.
        if let Ok(Some(answer)) = running.supervisor.send(DescribeJob { job }).await
            && let Ok(view) = answer.await
        {
            return Ok(view);
        }
        Ok(stored(&running.site, job).await?.view())
    }

    /// Waits until a job ends, at most `limit`, and answers with where it stands then.
    ///
    /// # Errors
    /// As [`CoordinatorHandle::job`].
    pub async fn wait(&self, job: JobId, limit: Duration) -> Result<JobView, CoordinatorError> {
        let running = self.running()?;
        if let Ok(Some(ended)) = running.supervisor.send(AwaitEnd { job }).await
            && let Ok(Ok(view)) = tokio::time::timeout(limit, ended).await
        {
            return Ok(view);
        }
        self.job(job).await
    }

    /// Newest jobs first, at most `limit`, older than `before` if given.
    ///
    /// # Errors
    /// [`CoordinatorError::Broker`].
    pub async fn jobs(
        &self,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<JobView>, CoordinatorError> {
        let running = self.running()?;
        let ids = running.site.broker().recent_jobs(before, limit).await?;
        let views = futures::stream::iter(ids)
            .map(|id| async move {
                match self.job(id).await {
                    Ok(view) => Ok(Some(view)),
                    // Its retention ended between the two reads.
                    Err(CoordinatorError::UnknownJob { .. }) => Ok(None),
                    Err(error) => Err(error),
                }
            })
            .buffered(READS_AT_A_TIME);
        let views: Vec<Option<JobView>> = views.try_collect().await?;
        Ok(views.into_iter().flatten().collect())
    }

    /// Cancels a job; a job that has ended stays as it is ([`CoordinatorError::WrongState`]).
    ///
    /// # Errors
    /// As [`CoordinatorHandle::job`], and [`CoordinatorError::WrongState`].
    pub async fn cancel(&self, job: JobId) -> Result<JobView, CoordinatorError> {
        let running = self.running()?;
        if !running.site.is_ready() {
            return Err(CoordinatorError::Unavailable);
        }
        if let Some(answer) = running.supervisor.send(CancelJob { job }).await? {
            return answer.await.map_err(|_| CoordinatorError::Unavailable)?;
        }
        let state = stored(&running.site, job).await?.state();
        if state.is_terminal() {
            let needs = "only a job that has not ended can be cancelled";
            return Err(CoordinatorError::WrongState { job, state, needs });
        }
        Err(CoordinatorError::Unavailable)
    }

    /// Makes a new job of an ended one that did not succeed (`retry_of`), with the input it kept.
    ///
    /// # Errors
    /// As [`CoordinatorHandle::submit`], and [`CoordinatorError::WrongState`].
    pub async fn retry(&self, job: JobId) -> Result<JobView, CoordinatorError> {
        let running = self.running()?;
        let stored = stored(&running.site, job).await?;
        let state = stored.state();
        let wrong = |needs| CoordinatorError::WrongState { job, state, needs };
        if !state.is_terminal() || state == JobState::Succeeded {
            return Err(wrong(
                "only a job that ended without success can be retried",
            ));
        }
        let Some(input) = running.site.broker().get_input(job).await? else {
            return Err(wrong(
                "its input is gone, because only failed jobs keep theirs: submit it again",
            ));
        };
        let record = stored.record();
        let request = JobRequest {
            circuit: record.circuit.clone(),
            input,
            priority: record.priority,
            // The old deadline speaks of the old attempt.
            deadline: None,
            expect: record.expect.clone(),
            idempotency_key: None,
            traceparent: None,
            retry_of: Some(job),
        };
        Ok(self.submit(request).await?.view)
    }

    /// Proofs of a job that succeeded.
    ///
    /// # Errors
    /// As [`CoordinatorHandle::job`], and [`CoordinatorError::WrongState`].
    pub async fn proof(&self, job: JobId) -> Result<JobProof, CoordinatorError> {
        let running = self.running()?;
        let view = self.job(job).await?;
        if view.state != JobState::Succeeded {
            return Err(CoordinatorError::WrongState {
                job,
                state: view.state,
                needs: "only a job that succeeded has proofs",
            });
        }
        let site = &running.site;
        let partitions = futures::stream::iter(view.partitions)
            .map(|partition| read_result(site, job, Unit::Partition(partition.index)))
            .buffered(READS_AT_A_TIME);
        let partitions: Vec<PartitionProof> = partitions.try_collect().await?;
        let output = read_result(site, job, Unit::Finish).await?;
        Ok(JobProof { partitions, output })
    }

    /// Events of a job's life, in order of time.
    ///
    /// # Errors
    /// As [`CoordinatorHandle::job`].
    pub async fn timeline(&self, job: JobId) -> Result<Vec<TimelineRecord>, CoordinatorError> {
        let running = self.running()?;
        let stored = running.site.broker().load_timeline(job).await?;
        if stored.is_empty() {
            self.job(job).await?;
        }
        let mut records: Vec<TimelineRecord> = decode_all(&stored, "timeline record");
        records.sort_by_key(|record| (record.at, record.event));
        // An event that was delivered twice was appended twice.
        records.dedup();
        Ok(records)
    }

    /// Every change of every job from here on; a slow reader misses some and is told so.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<JobChange> {
        match &self.running {
            Some(running) => running.site.changes.subscribe(),
            None => broadcast::channel(1).1,
        }
    }

    /// Live workers.
    ///
    /// # Errors
    /// [`CoordinatorError::Unavailable`].
    pub async fn workers(&self) -> Result<Vec<WorkerView>, CoordinatorError> {
        Ok(self.running()?.supervisor.send(DescribeWorkers).await?)
    }

    /// Registered circuits.
    ///
    /// # Errors
    /// [`CoordinatorError::Broker`].
    pub async fn circuits(&self) -> Result<Vec<CircuitRecord>, CoordinatorError> {
        let records = self.running()?.site.broker().circuits().await?;
        let mut circuits: Vec<CircuitRecord> = decode_all(&records, "circuit record");
        circuits.sort_by_key(|circuit| circuit.id.to_string());
        Ok(circuits)
    }

    /// True once the coordinator leads, has rebuilt its state and takes jobs.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.running
            .as_ref()
            .is_some_and(|running| running.site.is_ready())
    }

    /// Stops the coordinator: takes no more work, finishes writing what it has begun, gives the lead up. Jobs go on
    /// under the next coordinator.
    pub async fn stop(&self) {
        if let Some(running) = &self.running {
            running.stop().await;
        }
    }

    /// Waits until the coordinator ends, and says why.
    pub async fn ended(&self) -> CoordinatorEnd {
        match &self.running {
            Some(running) => running.site.ended().await,
            None => CoordinatorEnd::Stopped,
        }
    }

    fn running(&self) -> Result<&Running, CoordinatorError> {
        self.running.as_deref().ok_or(CoordinatorError::Unavailable)
    }

    #[cfg(test)]
    pub(crate) fn supervisor(&self) -> actix::Addr<crate::actors::JobSupervisor> {
        let running = self.running.as_ref().expect("a coordinator that runs");
        running.supervisor.clone()
    }
}

#[cfg(test)]
impl CoordinatorHandle {
    pub(crate) fn site(&self) -> Arc<Site> {
        let running = self.running.as_ref().expect("a coordinator that runs");
        Arc::clone(&running.site)
    }
}

impl From<MailboxError> for CoordinatorError {
    fn from(_: MailboxError) -> Self {
        Self::Unavailable
    }
}

/// Reads a job from the broker.
pub(crate) async fn stored(site: &Site, job: JobId) -> Result<Job, CoordinatorError> {
    let Some(stored) = site.broker().load_job(job).await? else {
        return Err(CoordinatorError::UnknownJob { job });
    };
    let loaded = read_job(stored).map_err(|error| unreadable(&error))?;
    Ok(loaded.job)
}

async fn read_result<T: DeserializeOwned>(
    site: &Site,
    job: JobId,
    unit: Unit,
) -> Result<T, CoordinatorError> {
    let result = site.broker().load_result(job, unit).await?;
    let bytes = result.ok_or(CoordinatorError::UnknownJob { job })?;
    serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))
}

fn unreadable(error: &impl std::fmt::Display) -> CoordinatorError {
    CoordinatorError::Broker(BrokerError::Unexpected {
        detail: error.to_string(),
    })
}
