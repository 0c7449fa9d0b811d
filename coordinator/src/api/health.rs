//! `GET /healthz` and `GET /readyz`: is the process alive, and does it take jobs.

use actix_web::web::Data;

use super::problem::{Problem, Refusal};
use super::server::ApiState;
use crate::handle::CoordinatorError;

/// Answers while the process is alive.
#[utoipa::path(
    get,
    path = "/healthz",
    responses((status = 200, body = String, content_type = "text/plain"))
)]
pub(crate) async fn healthz() -> &'static str {
    "alive\n"
}

/// Answers 200 once the coordinator leads, has rebuilt its state and takes jobs.
#[utoipa::path(
    get,
    path = "/readyz",
    responses(
        (status = 200, body = String, content_type = "text/plain"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn readyz(state: Data<ApiState>) -> Result<&'static str, Refusal> {
    if state.handle.is_ready() {
        Ok("ready\n")
    } else {
        Err(CoordinatorError::Unavailable.into())
    }
}
