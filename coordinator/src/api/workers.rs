//! `GET /v1/workers`: who works.

use actix_web::web::{Data, Json};

use super::answer::WorkersAnswer;
use super::problem::{Problem, Refusal};
use super::server::ApiState;

/// Lists the workers whose heartbeat is alive.
#[utoipa::path(
    get,
    path = "/v1/workers",
    responses(
        (status = 200, body = WorkersAnswer),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn workers(state: Data<ApiState>) -> Result<Json<WorkersAnswer>, Refusal> {
    let workers = state.handle.workers().await?;
    Ok(Json(WorkersAnswer { workers }))
}
