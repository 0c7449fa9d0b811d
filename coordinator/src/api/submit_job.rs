//! `POST /v1/jobs`: submits a job.

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use actix_web::web::{Data, Payload, Query};
use actix_web::{HttpRequest, HttpResponse};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use proofmill_shared::protocol::CircuitId;
use proofmill_shared::telemetry::RemoteContext;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::answer::JobAnswer;
use super::body::read_body;
use super::deadline::Deadline;
use super::idempotency::idempotency_key;
use super::limits::JSON_FRAME_BYTES_MAX;
use super::problem::{Problem, ProblemCode, Refusal};
use super::server::ApiState;
use crate::view::{Expectation, JobRequest, Priority};

const JSON: &str = "application/json";
const OCTETS: &str = "application/octet-stream";

/// A job as JSON. Exactly one of `input` and `input_base64` is given.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubmitBody {
    /// The circuit program, such as `sha256` or `sha256@1`.
    #[schema(value_type = String)]
    circuit: CircuitId,
    /// The input as JSON: its text reaches the circuit program exactly as it stands here.
    #[schema(value_type = Option<Object>)]
    input: Option<Box<RawValue>>,
    /// The input as bytes, in base64 with padding.
    input_base64: Option<String>,
    /// Priority; `normal` unless given.
    #[serde(default)]
    priority: Priority,
    /// Latest instant at which the result is of use.
    deadline: Option<Deadline>,
    /// What the result must show.
    expect: Option<Expectation>,
}

/// A job whose body is its raw input.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubmitQuery {
    /// The circuit program; required with an octet stream, and only there.
    #[param(value_type = Option<String>)]
    circuit: Option<CircuitId>,
    /// Priority; `normal` unless given.
    priority: Option<Priority>,
    /// Microseconds since the Unix epoch, or a duration from now such as `10m`.
    deadline: Option<String>,
}

/// Submits a job: the answer means that it is stored.
#[utoipa::path(
    post,
    path = "/v1/jobs",
    params(
        SubmitQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "Same key and same request: same job"),
        ("traceparent" = Option<String>, Header, description = "W3C trace context of the caller: the job's root span links to it"),
    ),
    request_body(content(
        (SubmitBody = "application/json"),
        (Vec<u8> = "application/octet-stream"),
    )),
    responses(
        (status = 201, body = JobAnswer, description = "A new job"),
        (status = 200, body = JobAnswer, description = "The job that the idempotency key names"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn submit_job(
    state: Data<ApiState>,
    request: HttpRequest,
    query: Query<SubmitQuery>,
    payload: Payload,
) -> Result<HttpResponse, Refusal> {
    let headers = request.headers();
    let idempotency_key = idempotency_key(headers)?;
    let is_json = is_json(headers)?;
    let limit = if is_json {
        // base64 makes 4 bytes of 3.
        state.input_bytes_max / 3 * 4 + JSON_FRAME_BYTES_MAX
    } else {
        state.input_bytes_max
    };
    let body = read_body(&request, payload, limit, &state.body_budget).await?;
    let mut job = if is_json {
        from_json(&state, &query, &body.bytes)?
    } else {
        from_octets(&state, query.into_inner(), body.bytes.clone())?
    };
    job.idempotency_key = idempotency_key;
    job.traceparent = traceparent(headers);
    let submitted = state.handle.submit(job).await?;
    drop(body);
    let status = if submitted.is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let answer = JobAnswer::from(submitted.view);
    Ok(HttpResponse::build(status)
        .insert_header((LOCATION, answer.links.this.clone()))
        .json(answer))
}

fn is_json(headers: &HeaderMap) -> Result<bool, Refusal> {
    let header = headers.get(CONTENT_TYPE).map(|value| value.to_str());
    let full = match header {
        Some(Ok(text)) => text,
        _ => "",
    };
    let essence = full.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(JSON) {
        Ok(true)
    } else if essence.eq_ignore_ascii_case(OCTETS) {
        Ok(false)
    } else {
        Err(Refusal::new(
            ProblemCode::BadMediaType,
            format!("content-type is {full:?}: expected {JSON} or {OCTETS}"),
        ))
    }
}

fn from_json(state: &ApiState, query: &SubmitQuery, bytes: &[u8]) -> Result<JobRequest, Refusal> {
    let refuse = |detail: String| Refusal::new(ProblemCode::BadBody, detail);
    if query.circuit.is_some() || query.priority.is_some() || query.deadline.is_some() {
        return Err(Refusal::new(
            ProblemCode::BadQuery,
            "with a JSON body, circuit, priority and deadline belong into the body",
        ));
    }
    let body: SubmitBody =
        serde_json::from_slice(bytes).map_err(|error| refuse(error.to_string()))?;
    let input = match (body.input, body.input_base64) {
        (Some(json), None) => Bytes::from(String::from(Box::<str>::from(json))),
        (None, Some(text)) => STANDARD
            .decode(text)
            .map(Bytes::from)
            .map_err(|error| refuse(format!("input_base64 does not read: {error}")))?,
        _ => return Err(refuse("expected one of input and input_base64".to_owned())),
    };
    job_request(
        state,
        body.circuit,
        input,
        body.priority,
        body.deadline.as_ref(),
        body.expect,
    )
}

fn from_octets(state: &ApiState, query: SubmitQuery, input: Bytes) -> Result<JobRequest, Refusal> {
    let circuit = query.circuit.ok_or_else(|| {
        Refusal::new(
            ProblemCode::BadQuery,
            "an octet stream needs ?circuit=NAME in the query",
        )
    })?;
    let deadline = query.deadline.as_deref().map(Deadline::from_query);
    job_request(
        state,
        circuit,
        input,
        query.priority.unwrap_or_default(),
        deadline.as_ref(),
        None,
    )
}

fn job_request(
    state: &ApiState,
    circuit: CircuitId,
    input: Bytes,
    priority: Priority,
    deadline: Option<&Deadline>,
    expect: Option<Expectation>,
) -> Result<JobRequest, Refusal> {
    let (bytes, limit) = (input.len(), state.input_bytes_max);
    if bytes > limit {
        return Err(crate::handle::CoordinatorError::InputTooLarge { bytes, limit }.into());
    }
    let deadline = deadline
        .map(|deadline| deadline.resolve(state.clock.now()))
        .transpose()
        .map_err(|error| Refusal::new(ProblemCode::BadBody, format!("deadline: {error}")))?;
    Ok(JobRequest {
        circuit,
        input,
        priority,
        deadline,
        expect,
        idempotency_key: None,
        traceparent: None,
        retry_of: None,
    })
}

/// The caller's trace context; a malformed one counts as absent, for telemetry never decides about a job.
fn traceparent(headers: &HeaderMap) -> Option<String> {
    let text = headers.get("traceparent")?.to_str().ok()?;
    RemoteContext::parse(text).map(|context| context.traceparent())
}
