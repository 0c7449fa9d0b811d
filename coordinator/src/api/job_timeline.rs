//! `GET /v1/jobs/{id}/timeline`: what happened to a job, and when.

use actix_web::web::{Data, Json};

use super::answer::{JobLinks, TimelineAnswer};
use super::path::JobPath;
use super::problem::{Problem, Refusal};
use super::server::ApiState;

/// Shows the events of a job's life so far, in order of time.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/timeline",
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, body = TimelineAnswer),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn job_timeline(
    state: Data<ApiState>,
    job: JobPath,
) -> Result<Json<TimelineAnswer>, Refusal> {
    let records = state.handle.timeline(job.0).await?;
    Ok(Json(TimelineAnswer {
        id: job.0,
        trace_id: format!("{:032x}", job.0.trace_id()),
        records,
        links: JobLinks::of(job.0),
    }))
}
