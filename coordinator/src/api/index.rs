//! `GET /`: where to go from here.

/// Says what this server is and where its API is described.
#[utoipa::path(
    get,
    path = "/",
    responses((status = 200, body = String, content_type = "text/plain"))
)]
pub(crate) async fn index() -> &'static str {
    concat!(
        "proofmill coordinator ",
        env!("CARGO_PKG_VERSION"),
        "\n\nAPI         /openapi.json\njobs        /v1/jobs\ncircuits    /v1/circuits\nworkers     /v1/workers\nhealth      /healthz /readyz\n"
    )
}
