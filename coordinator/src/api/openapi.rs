//! `GET /openapi.json`: the API described for programs.

use actix_web::web::Json;
use utoipa::OpenApi;

use super::{
    artifacts, cancel_job, circuits, health, index, job_events, job_proof, job_timeline, list_jobs,
    retry_job, show_job, submit_job, workers,
};

/// The whole API.
#[derive(Debug, OpenApi)]
#[openapi(
    info(
        title = "Proofmill coordinator",
        description = "Submit proving jobs, follow them, fetch their proofs."
    ),
    paths(
        index::index,
        health::healthz,
        health::readyz,
        openapi_json,
        submit_job::submit_job,
        list_jobs::list_jobs,
        show_job::show_job,
        cancel_job::cancel_job,
        retry_job::retry_job,
        job_proof::job_proof,
        job_timeline::job_timeline,
        job_events::job_events,
        circuits::circuits,
        workers::workers,
        artifacts::get_shape,
        artifacts::put_shape,
        artifacts::get_key,
    )
)]
struct ApiDocument;

/// Describes the API as OpenAPI 3.1.
#[utoipa::path(get, path = "/openapi.json", responses((status = 200, body = Object)))]
pub(crate) async fn openapi_json() -> Json<utoipa::openapi::OpenApi> {
    Json(ApiDocument::openapi())
}
