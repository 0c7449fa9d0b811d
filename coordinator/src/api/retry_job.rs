//! `POST /v1/jobs/{id}/retry`: a new job of one that ended without success.

use actix_web::HttpResponse;
use actix_web::http::header::LOCATION;
use actix_web::web::Data;

use super::answer::JobAnswer;
use super::path::JobPath;
use super::problem::{Problem, Refusal};
use super::server::ApiState;

/// Makes a new job, with `retry_of`, of one that ended without success and whose input is kept.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/retry",
    params(("id" = String, Path, description = "The ended job")),
    responses(
        (status = 201, body = JobAnswer, description = "The new job"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn retry_job(
    state: Data<ApiState>,
    job: JobPath,
) -> Result<HttpResponse, Refusal> {
    let answer = JobAnswer::from(state.handle.retry(job.0).await?);
    Ok(HttpResponse::Created()
        .insert_header((LOCATION, answer.links.this.clone()))
        .json(answer))
}
