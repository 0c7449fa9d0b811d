//! Jobs through an embedded cluster, from their inputs to their proofs.

use std::time::Duration;

use bytes::Bytes;
use proofmill_coordinator::handle::CoordinatorHandle;
use proofmill_coordinator::view::{JobProof, JobRequest, JobState, Priority};
use proofmill_shared::protocol::{CircuitId, JobId};
use proofmill_shared::telemetry::TimelineRecord;

use super::EmbeddedError;

/// Longest wait for one job.
const JOB_LIMIT: Duration = Duration::from_secs(3600);

/// One input.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
}

/// One job that ended well.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) input: Input,
    pub(crate) job: JobId,
    pub(crate) proof: JobProof,
    pub(crate) timeline: Vec<TimelineRecord>,
}

/// Submits every input, the inputs taken in turn until there are as many jobs, and waits until all are proved.
pub(crate) async fn prove_all(
    coordinator: &CoordinatorHandle,
    circuit: &CircuitId,
    inputs: &[Input],
    jobs: usize,
) -> Result<Vec<Outcome>, EmbeddedError> {
    let mut submitted: Vec<(Input, JobId)> = Vec::new();
    for input in inputs.iter().cycle().take(jobs) {
        let request = JobRequest {
            circuit: circuit.clone(),
            input: input.bytes.clone(),
            priority: Priority::Normal,
            deadline: None,
            expect: None,
            idempotency_key: None,
            traceparent: None,
            retry_of: None,
        };
        submitted.push((input.clone(), coordinator.submit(request).await?.view.id));
    }
    let mut outcomes = Vec::new();
    for (input, job) in submitted {
        let view = coordinator.wait(job, JOB_LIMIT).await?;
        if view.state != JobState::Succeeded {
            let reason = view
                .failure
                .map_or_else(|| format!("{:?}", view.state), |failure| failure.message);
            return Err(EmbeddedError::NotProved {
                name: input.name,
                job,
                state: view.state,
                reason,
            });
        }
        let (proof, timeline) = (
            coordinator.proof(job).await?,
            coordinator.timeline(job).await?,
        );
        outcomes.push(Outcome {
            input,
            job,
            proof,
            timeline,
        });
    }
    Ok(outcomes)
}
