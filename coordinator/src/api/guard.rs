//! Who may ask at all: while there are no API keys, only this machine, and no page of another site.
//!
//! A server on loopback is still within reach of the user's browser. A page that rebinds its name to 127.0.0.1 is
//! refused by the `Host` it sends, a page that posts across sites by its `Origin`.

use actix_web::ResponseError as _;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use actix_web::middleware::Next;
use actix_web::web::Data;

use super::problem::{ProblemCode, Refusal};
use super::server::ApiState;

/// Middleware that refuses foreign hosts (on loopback) and foreign origins (always).
pub(crate) async fn refuse_foreign_pages(
    state: Data<ApiState>,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    if let Err(refusal) = check(request.headers(), state.is_loopback) {
        return Ok(request
            .into_response(refusal.error_response())
            .map_into_right_body());
    }
    next.call(request)
        .await
        .map(ServiceResponse::map_into_left_body)
}

fn check(headers: &HeaderMap, is_loopback: bool) -> Result<(), Refusal> {
    let host = text(headers, HOST).unwrap_or_default();
    if is_loopback && !is_local(host) {
        return Err(Refusal::new(
            ProblemCode::WrongHost,
            format!("this server listens on loopback and is not {host:?}"),
        ));
    }
    match text(headers, ORIGIN) {
        Some(origin) if origin.split_once("://").map(|(_, rest)| rest) != Some(host) => {
            Err(Refusal::new(
                ProblemCode::ForeignOrigin,
                format!("a page of {origin:?} may not use this server"),
            ))
        }
        _ => Ok(()),
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers
        .get(name)
        .map(|value| value.to_str().unwrap_or("(not text)"))
}

fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn headers(host: &'static str, origin: Option<&'static str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_static(origin));
        }
        headers
    }

    #[test]
    fn a_name_rebound_to_loopback_is_refused() {
        for host in [
            "127.0.0.1:7311",
            "localhost",
            "LOCALHOST:1",
            "[::1]:7311",
            "127.0.0.2",
        ] {
            assert!(
                check(&headers(host, None), true).is_ok(),
                "{host} was refused"
            );
        }
        for host in [
            "evil.example:7311",
            "",
            "127.0.0.1.evil.example",
            "10.0.0.1",
        ] {
            assert!(
                check(&headers(host, None), true).is_err(),
                "{host} was accepted"
            );
            assert!(check(&headers(host, None), false).is_ok());
        }
    }

    #[test]
    fn a_page_of_another_site_is_refused() {
        let own = headers("localhost:7311", Some("http://localhost:7311"));
        assert!(check(&own, true).is_ok());
        for origin in ["http://evil.example", "null", "http://localhost:8000"] {
            assert!(check(&headers("localhost:7311", Some(origin)), true).is_err());
            assert!(check(&headers("localhost:7311", Some(origin)), false).is_err());
        }
    }
}
