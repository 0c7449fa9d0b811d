//! `DELETE /v1/jobs/{id}`: cancels a job.

use actix_web::web::{Data, Json};

use super::answer::JobAnswer;
use super::path::JobPath;
use super::problem::{Problem, Refusal};
use super::server::ApiState;

/// Cancels a job; one that has ended stays as it is.
#[utoipa::path(
    delete,
    path = "/v1/jobs/{id}",
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, body = JobAnswer),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn cancel_job(
    state: Data<ApiState>,
    job: JobPath,
) -> Result<Json<JobAnswer>, Refusal> {
    Ok(Json(state.handle.cancel(job.0).await?.into()))
}
