//! Which path and method leads to which endpoint.

use actix_web::guard::{Any, Get, Head};
use actix_web::web::{self, QueryConfig, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, Route};

use super::problem::{ProblemCode, Refusal};
use super::{
    artifacts, cancel_job, circuits, health, index, job_events, job_proof, job_timeline, list_jobs,
    openapi, retry_job, show_job, submit_job, workers,
};

/// Registers every route, and problems for everything else.
pub(crate) fn routes(config: &mut ServiceConfig) {
    let bad_query = QueryConfig::default().error_handler(|error, _request| {
        Refusal::new(ProblemCode::BadQuery, error.to_string()).into()
    });
    config.app_data(bad_query);

    let reads: [(&str, Route); 9] = [
        ("/", get().to(index::index)),
        ("/healthz", get().to(health::healthz)),
        ("/readyz", get().to(health::readyz)),
        ("/openapi.json", get().to(openapi::openapi_json)),
        ("/v1/circuits", get().to(circuits::circuits)),
        ("/v1/workers", get().to(workers::workers)),
        ("/v1/jobs/{id}/proof", get().to(job_proof::job_proof)),
        (
            "/v1/jobs/{id}/timeline",
            get().to(job_timeline::job_timeline),
        ),
        ("/v1/jobs/{id}/events", get().to(job_events::job_events)),
    ];
    for (path, route) in reads {
        resource(config, path, "GET, HEAD", [route]);
    }
    resource(
        config,
        "/v1/jobs",
        "GET, HEAD, POST",
        [
            get().to(list_jobs::list_jobs),
            web::post().to(submit_job::submit_job),
        ],
    );
    resource(
        config,
        "/v1/jobs/{id}",
        "DELETE, GET, HEAD",
        [
            get().to(show_job::show_job),
            web::delete().to(cancel_job::cancel_job),
        ],
    );
    resource(
        config,
        "/v1/jobs/{id}/retry",
        "POST",
        [web::post().to(retry_job::retry_job)],
    );
    resource(
        config,
        "/v1/shapes/{digest}",
        "GET, HEAD, PUT",
        [
            get().to(artifacts::get_shape),
            web::put().to(artifacts::put_shape),
        ],
    );
    resource(
        config,
        "/v1/keys/{digest}",
        "GET, HEAD",
        [get().to(artifacts::get_key)],
    );
    config.default_service(web::to(unknown_path));
}

/// A route for GET, and for HEAD with it.
fn get() -> Route {
    web::route().guard(Any(Get()).or(Head()))
}

/// Registers a path with its routes; other methods are told which are allowed.
fn resource<const N: usize>(
    config: &mut ServiceConfig,
    path: &str,
    allow: &'static str,
    routes: [Route; N],
) {
    let mut resource = web::resource(path);
    for route in routes {
        resource = resource.route(route);
    }
    config.service(
        resource.default_service(web::to(move |request: HttpRequest| async move {
            Err::<HttpResponse, _>(Refusal::wrong_method(request.method().as_str(), allow))
        })),
    );
}

async fn unknown_path(request: HttpRequest) -> Result<HttpResponse, Refusal> {
    Err(Refusal::new(
        ProblemCode::UnknownPath,
        format!("nothing is at {:?}", request.path()),
    ))
}
