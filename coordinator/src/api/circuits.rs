//! `GET /v1/circuits`: what can be submitted.

use actix_web::web::{Data, Json};

use super::answer::CircuitsAnswer;
use super::problem::{Problem, Refusal};
use super::server::ApiState;

/// Lists the circuits that the synth workers have registered.
#[utoipa::path(
    get,
    path = "/v1/circuits",
    responses(
        (status = 200, body = CircuitsAnswer),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn circuits(state: Data<ApiState>) -> Result<Json<CircuitsAnswer>, Refusal> {
    let circuits = state.handle.circuits().await?;
    Ok(Json(CircuitsAnswer { circuits }))
}
