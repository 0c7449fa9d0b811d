//! `GET /v1/jobs`: jobs, newest first, by pages.

use actix_web::web::{Data, Json, Query};
use proofmill_shared::protocol::JobId;
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer::{JobAnswer, JobsAnswer};
use super::limits::{JOBS_PER_PAGE_DEFAULT, JOBS_PER_PAGE_MAX};
use super::problem::{Problem, ProblemCode, Refusal};
use super::server::ApiState;

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobsQuery {
    /// Only jobs older than this one.
    #[param(value_type = Option<String>)]
    before: Option<JobId>,
    /// Jobs in the page, 1 to 500; 50 unless given.
    limit: Option<usize>,
}

/// Lists jobs, newest first.
#[utoipa::path(
    get,
    path = "/v1/jobs",
    params(JobsQuery),
    responses(
        (status = 200, body = JobsAnswer),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn list_jobs(
    state: Data<ApiState>,
    query: Query<JobsQuery>,
) -> Result<Json<JobsAnswer>, Refusal> {
    let limit = query.limit.unwrap_or(JOBS_PER_PAGE_DEFAULT);
    if !(1..=JOBS_PER_PAGE_MAX).contains(&limit) {
        return Err(Refusal::new(
            ProblemCode::BadQuery,
            format!("limit is {limit}: expected 1 to {JOBS_PER_PAGE_MAX}"),
        ));
    }
    // One more than the page shows whether there is a next one.
    let mut jobs = state.handle.jobs(query.before, limit + 1).await?;
    let has_more = jobs.len() > limit;
    jobs.truncate(limit);
    let next = jobs
        .last()
        .filter(|_| has_more)
        .map(|last| format!("/v1/jobs?before={}&limit={limit}", last.id));
    let jobs = jobs.into_iter().map(JobAnswer::from).collect();
    Ok(Json(JobsAnswer { jobs, next }))
}
