//! `GET /v1/jobs/{id}`: one job, now or once it has ended.

use actix_web::web::{Data, Json, Query};
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer::JobAnswer;
use super::deadline::parse_duration;
use super::limits::WAIT_MAX;
use super::path::JobPath;
use super::problem::{Problem, ProblemCode, Refusal};
use super::server::ApiState;

/// How long to wait.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitQuery {
    /// Answer when the job has ended, or after this duration (such as `30s`, at most `55s`), whatever comes first.
    wait: Option<String>,
}

/// Shows a job; with `wait`, answers as soon as it has ended.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}",
    params(("id" = String, Path, description = "The job"), WaitQuery),
    responses(
        (status = 200, body = JobAnswer),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn show_job(
    state: Data<ApiState>,
    job: JobPath,
    query: Query<WaitQuery>,
) -> Result<Json<JobAnswer>, Refusal> {
    let refuse = |detail| Refusal::new(ProblemCode::BadQuery, detail);
    let view = match &query.wait {
        None => state.handle.job(job.0).await?,
        Some(text) => {
            let wait = parse_duration(text).map_err(|error| refuse(format!("wait: {error}")))?;
            if wait > WAIT_MAX {
                let seconds = WAIT_MAX.as_secs();
                return Err(refuse(format!(
                    "wait is {text}: expected at most {seconds}s"
                )));
            }
            state.handle.wait(job.0, wait).await?
        }
    };
    Ok(Json(view.into()))
}
