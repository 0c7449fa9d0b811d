//! Parsed inputs of the jobs at hand: an input is fetched and parsed once, however many partitions it has.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use proofmill_shared::broker::BrokerHandle;
use proofmill_shared::membership::CancelFlag;
use proofmill_shared::protocol::JobId;

use super::patience::patiently;
use super::tasks::TaskError;
use crate::circuit::{ParsedInput, RegisteredCircuit};

/// Inputs kept: those of the jobs whose partitions interleave on one worker.
const INPUTS_KEPT: usize = 8;

/// The input of one job; locked while it is fetched and parsed, so that slots which want it together wait for one.
type Place = Arc<tokio::sync::Mutex<Option<ParsedInput>>>;

/// Shared by the slots of one worker. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct InputCache {
    /// Used last comes first.
    recent: Arc<Mutex<VecDeque<(JobId, Place)>>>,
}

impl fmt::Debug for InputCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jobs = self.recent.lock().len();
        f.debug_struct("InputCache").field("jobs", &jobs).finish()
    }
}

impl InputCache {
    /// The parsed input of a job, fetched and parsed if it is not at hand.
    ///
    /// # Errors
    /// [`TaskError::Broker`], [`TaskError::MissingInput`], or the program's refusal.
    pub(super) async fn get(
        &self,
        broker: &BrokerHandle,
        job: JobId,
        circuit: &RegisteredCircuit,
        cancel: &CancelFlag,
    ) -> Result<ParsedInput, TaskError> {
        let place = self.place(job);
        let mut held = place.lock().await;
        if let Some(input) = &*held {
            return Ok(input.clone());
        }
        let raw = patiently(cancel, async || broker.get_input(job).await)
            .await?
            .ok_or(TaskError::MissingInput)?;
        let input = circuit.parse(&raw)?;
        *held = Some(input.clone());
        Ok(input)
    }

    /// Forgets the input of a job that is finished.
    pub(super) fn forget(&self, job: JobId) {
        self.recent.lock().retain(|(known, _)| *known != job);
    }

    fn place(&self, job: JobId) -> Place {
        let mut recent = self.recent.lock();
        let known = recent.iter().position(|(known, _)| *known == job);
        let entry = known
            .and_then(|at| recent.remove(at))
            .unwrap_or_else(|| (job, Place::default()));
        let place = Arc::clone(&entry.1);
        recent.push_front(entry);
        recent.truncate(INPUTS_KEPT);
        place
    }
}
