//! A client's request becomes a job: checks, idempotency, input, record. Durable before it answers.

use std::time::Duration;

use proofmill_shared::broker::IdempotencyOutcome;
use proofmill_shared::protocol::{CircuitId, CircuitRecord, Digest, JobId, UnixMicros};
use proofmill_shared::telemetry::SpanId;

use crate::actors::{AcceptJob, Running, Site, decode_all};
use crate::handle::{CoordinatorError, Submitted, stored};
use crate::job::JobRecord;
use crate::view::{Expectation, JobRequest, JobState};

/// How long an input waits for its job to be created: long enough for any retry, short enough that an abandoned one
/// does not stay.
const INPUT_TTL: Duration = Duration::from_secs(600);

/// Accepts a request.
pub(crate) async fn submit(
    running: &Running,
    request: JobRequest,
) -> Result<Submitted, CoordinatorError> {
    let site = &*running.site;
    check(site, &request).await?;
    let digest = request_digest(&request);
    let id = match reserve(site, &request, &digest).await? {
        Reservation::Job(id) => id,
        Reservation::Taken(id) => match stored(site, id).await {
            Ok(job) => {
                return Ok(Submitted {
                    view: job.view(),
                    is_new: false,
                });
            }
            // Reserved, and never created: whoever did so was cut off, or is at it right now.
            Err(CoordinatorError::UnknownJob { .. }) => id,
            Err(error) => return Err(error),
        },
    };
    site.broker()
        .put_input(id, request.input.clone(), INPUT_TTL)
        .await?;
    let record = record(id, request, digest, site.now());
    let answer = running.supervisor.send(AcceptJob { record }).await??;
    answer.await.map_err(|_| CoordinatorError::Unavailable)?
}

/// Everything that can be refused before anything is written.
async fn check(site: &Site, request: &JobRequest) -> Result<(), CoordinatorError> {
    if !site.is_ready() {
        return Err(CoordinatorError::Unavailable);
    }
    let (bytes, limit) = (request.input.len(), site.options.input_bytes_max);
    if bytes > limit {
        return Err(CoordinatorError::InputTooLarge { bytes, limit });
    }
    if request
        .deadline
        .is_some_and(|deadline| deadline <= site.now())
    {
        return Err(CoordinatorError::DeadlinePassed);
    }
    let (queued, limit) = (site.active(), site.options.queue_limit);
    if queued >= limit {
        return Err(CoordinatorError::QueueFull { queued, limit });
    }
    known_circuit(site, &request.circuit).await
}

async fn known_circuit(site: &Site, id: &CircuitId) -> Result<(), CoordinatorError> {
    if site.circuit(id).is_some() {
        return Ok(());
    }
    // It may have been registered since the registry last looked.
    let circuits: Vec<CircuitRecord> =
        decode_all(&site.broker().circuits().await?, "circuit record");
    site.set_circuits(circuits.clone());
    if circuits.iter().any(|circuit| circuit.id == *id) {
        return Ok(());
    }
    let mut known: Vec<String> = circuits
        .iter()
        .map(|circuit| circuit.id.to_string())
        .collect();
    known.sort();
    let known = if known.is_empty() {
        "none, because no synth worker has registered one yet".to_owned()
    } else {
        known.join(", ")
    };
    Err(CoordinatorError::UnknownCircuit {
        circuit: id.to_string(),
        known,
    })
}

enum Reservation {
    /// To be created under this id.
    Job(JobId),
    /// The same request was made before, under this id.
    Taken(JobId),
}

async fn reserve(
    site: &Site,
    request: &JobRequest,
    digest: &str,
) -> Result<Reservation, CoordinatorError> {
    let id = JobId::generate();
    let Some(key) = &request.idempotency_key else {
        return Ok(Reservation::Job(id));
    };
    let outcome = site
        .broker()
        .reserve_idempotency(key, id, digest, site.options.retention)
        .await?;
    match outcome {
        IdempotencyOutcome::Reserved => Ok(Reservation::Job(id)),
        IdempotencyOutcome::Taken { job, request } if request == digest => {
            Ok(Reservation::Taken(job))
        }
        IdempotencyOutcome::Taken { job, .. } => Err(CoordinatorError::IdempotencyConflict { job }),
    }
}

/// Digest of what an idempotency key binds: circuit, input and expectation. Priority and deadline are not among them: a
/// client that repeats itself often states them anew.
fn request_digest(request: &JobRequest) -> String {
    let expect = request.expect.as_ref().map(|expect: &Expectation| {
        serde_json::to_string(expect).expect("an expectation holds only what JSON can hold")
    });
    let text = format!(
        "{}\n{}\n{}",
        request.circuit,
        Digest::of(&request.input),
        expect.unwrap_or_default()
    );
    Digest::of(text.as_bytes()).to_string()
}

fn record(id: JobId, request: JobRequest, digest: String, now: UnixMicros) -> JobRecord {
    JobRecord {
        id,
        circuit: request.circuit,
        priority: request.priority,
        state: JobState::Accepted,
        submitted_at: now,
        deadline: request.deadline,
        expect: request.expect,
        input_bytes: request.input.len() as u64,
        request: digest,
        root_span: SpanId::random().to_string(),
        traceparent: request.traceparent,
        retry_of: request.retry_of,
        plan: None,
        planned_at: UnixMicros(0),
        proved_at: UnixMicros(0),
        ended_at: None,
        failure: None,
    }
}
