//! `GET /v1/jobs/{id}/proof`: the proofs of a job that succeeded.

use actix_web::web::{Data, Json};

use super::answer::{JobLinks, ProofAnswer};
use super::path::JobPath;
use super::problem::{Problem, Refusal};
use super::server::ApiState;

/// Shows the proofs of a job that succeeded.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/proof",
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, body = ProofAnswer),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn job_proof(
    state: Data<ApiState>,
    job: JobPath,
) -> Result<Json<ProofAnswer>, Refusal> {
    let view = state.handle.job(job.0).await?;
    let proof = state.handle.proof(job.0).await?;
    Ok(Json(ProofAnswer {
        id: view.id,
        trace_id: view.trace_id,
        circuit: view.circuit,
        partitions: proof.partitions,
        output: proof.output,
        links: JobLinks::of(job.0),
    }))
}
