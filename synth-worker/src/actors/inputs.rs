//! Parsed inputs of the jobs at hand: an input is fetched and parsed once, however many partitions it has.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use proofmill_shared::broker::{BrokerError, BrokerHandle};
use proofmill_shared::protocol::{FailureKind, JobId, TaskFailure};

use crate::circuit::{CircuitError, ParsedInput, RegisteredCircuit};

/// Inputs kept: those of the jobs whose partitions interleave on one worker.
const INPUTS_KEPT: usize = 8;

/// Why a task has no input.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// The broker did not give it.
    #[error("input cannot be read: {0}")]
    Broker(#[from] BrokerError),
    /// It is gone: the job has ended.
    #[error("input of the job is gone: the job has ended or its input has expired")]
    Missing,
    /// The circuit refuses it.
    #[error(transparent)]
    Refused(#[from] CircuitError),
}

impl InputError {
    pub(crate) fn failure(&self) -> TaskFailure {
        match self {
            Self::Broker(_) => TaskFailure::new(
                FailureKind::Infrastructure,
                "broker-failed",
                self.to_string(),
            ),
            Self::Missing => {
                TaskFailure::new(FailureKind::Attempt, "input-missing", self.to_string())
            }
            Self::Refused(error) => error.failure(),
        }
    }
}

/// Shared by the slots of one worker. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputCache {
    recent: Arc<Mutex<VecDeque<(JobId, ParsedInput)>>>,
}

impl InputCache {
    /// The parsed input of a job, fetched and parsed if it is not at hand.
    pub(crate) async fn get(
        &self,
        broker: &BrokerHandle,
        job: JobId,
        circuit: &RegisteredCircuit,
    ) -> Result<ParsedInput, InputError> {
        let known = self
            .recent
            .lock()
            .iter()
            .find(|(known, _)| *known == job)
            .map(|(_, input)| input.clone());
        if let Some(input) = known {
            return Ok(input);
        }
        let raw = broker.get_input(job).await?.ok_or(InputError::Missing)?;
        let input = circuit.parse(&raw)?;
        let mut recent = self.recent.lock();
        recent.push_front((job, input.clone()));
        recent.truncate(INPUTS_KEPT);
        Ok(input)
    }

    /// Forgets the input of a job that is finished.
    pub(crate) fn forget(&self, job: JobId) {
        self.recent.lock().retain(|(known, _)| *known != job);
    }
}
