//! Every kind of bad request gets its status and its code, and nothing reaches the coordinator.

use serde_json::json;

use super::super::{ServeError, serve};
use super::fixture::{INPUT_BYTES_MAX, TestServer, config, problem};
use crate::handle::CoordinatorHandle;

const JOB: &str = "/v1/jobs/0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11";

fn server() -> TestServer {
    TestServer::start(CoordinatorHandle::detached())
}

#[tokio::test]
async fn bad_paths_methods_and_queries_are_named() {
    let server = server();
    let cases = [
        ("GET", "/nowhere", 404, "unknown-path"),
        ("GET", "/v1/jobs/", 404, "unknown-path"),
        ("GET", "/v2/jobs", 404, "unknown-path"),
        ("PATCH", "/v1/jobs", 405, "wrong-method"),
        ("PUT", JOB, 405, "wrong-method"),
        ("GET", &format!("{JOB}/retry"), 405, "wrong-method"),
        ("POST", "/healthz", 405, "wrong-method"),
        ("GET", "/v1/jobs/7", 400, "bad-path"),
        ("DELETE", "/v1/jobs/%00", 400, "bad-path"),
        ("GET", "/v1/jobs/x/proof", 400, "bad-path"),
        ("GET", "/v1/jobs/x/timeline", 400, "bad-path"),
        ("GET", "/v1/jobs/x/events", 400, "bad-path"),
        ("POST", "/v1/jobs/x/retry", 400, "bad-path"),
        ("GET", "/v1/jobs?limit=0", 400, "bad-query"),
        ("GET", "/v1/jobs?limit=501", 400, "bad-query"),
        ("GET", "/v1/jobs?limit=-1", 400, "bad-query"),
        (
            "GET",
            "/v1/jobs?limit=99999999999999999999",
            400,
            "bad-query",
        ),
        ("GET", "/v1/jobs?before=yesterday", 400, "bad-query"),
        ("GET", "/v1/jobs?page=2", 400, "bad-query"),
        ("GET", &format!("{JOB}?wait=30"), 400, "bad-query"),
        ("GET", &format!("{JOB}?wait=2h"), 400, "bad-query"),
        ("GET", &format!("{JOB}?wait=-1s"), 400, "bad-query"),
        ("GET", &format!("{JOB}?verbose=1"), 400, "bad-query"),
    ];
    for (method, path, status, code) in cases {
        let response = server.request(method, path).send().await.unwrap();
        let problem = problem(response).await;
        assert_eq!(
            (problem.status, problem.code.as_str()),
            (status, code),
            "{method} {path}: {}",
            problem.detail
        );
    }
}

#[tokio::test]
async fn bad_bodies_are_named() {
    let server = server();
    let cases = [
        ("", "bad-body"),
        ("{", "bad-body"),
        ("[]", "bad-body"),
        ("\u{0}", "bad-body"),
        ("{}", "bad-body"),
        (r#"{"circuit":"chain"}"#, "bad-body"),
        (r#"{"circuit":"chain","input":null}"#, "bad-body"),
        (r#"{"circuit":"Chain!","input":1}"#, "bad-body"),
        (r#"{"circuit":7,"input":1}"#, "bad-body"),
        (
            r#"{"circuit":"chain","input":1,"input_base64":"AA=="}"#,
            "bad-body",
        ),
        (r#"{"circuit":"chain","input_base64":"A"}"#, "bad-body"),
        (
            r#"{"circuit":"chain","input":1,"colour":"red"}"#,
            "bad-body",
        ),
        (r#"{"circuit":"chain","input":1,"input":2}"#, "bad-body"),
        (
            r#"{"circuit":"chain","input":1,"priority":"urgent"}"#,
            "bad-body",
        ),
        (r#"{"circuit":"chain","input":1,"deadline":-5}"#, "bad-body"),
        (
            r#"{"circuit":"chain","input":1,"deadline":"soon"}"#,
            "bad-body",
        ),
        (
            r#"{"circuit":"chain","input":1,"expect":{"colour":"red"}}"#,
            "bad-body",
        ),
        (r#"{"circuit":"chain","input":1} {}"#, "bad-body"),
    ];
    for (body, code) in cases {
        let request = server
            .request("POST", "/v1/jobs")
            .header("content-type", "application/json; charset=utf-8")
            .body(body);
        let problem = problem(request.send().await.unwrap()).await;
        assert_eq!(
            (problem.status, problem.code.as_str()),
            (400, code),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_refused_body_is_not_repeated_in_the_answer() {
    let server = server();
    let secret = "\"circuit\":\"chain\",\"input\":{\"secret\":\"7d1c7b3a\"}";
    for body in [format!("{{{secret}"), format!("{{{secret},\"colour\":1}}")] {
        let request = server
            .request("POST", "/v1/jobs")
            .header("content-type", "application/json")
            .body(body);
        let problem = problem(request.send().await.unwrap()).await;
        assert!(!problem.detail.contains("7d1c7b3a"), "{}", problem.detail);
    }
}

#[tokio::test]
async fn deep_nesting_neither_overflows_nor_is_held_against_the_input() {
    let server = server();
    let depth = INPUT_BYTES_MAX / 2 - 1;
    let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for (body, code) in [
        (
            format!(r#"{{"circuit":"chain","input":{nested}}}"#),
            "unavailable",
        ),
        (
            format!(r#"{{"circuit":"chain","input":1,"expect":{{"output":{nested}}}}}"#),
            "bad-body",
        ),
    ] {
        let request = server
            .request("POST", "/v1/jobs")
            .header("content-type", "application/json")
            .body(body);
        assert_eq!(problem(request.send().await.unwrap()).await.code, code);
    }
}

#[tokio::test]
async fn bad_octet_streams_media_types_and_headers_are_named() {
    let server = server();
    let octets = "application/octet-stream";
    let long_key = "k".repeat(256);
    let cases = [
        ("/v1/jobs", octets, "k", 400, "bad-query"),
        ("/v1/jobs?circuit=A", octets, "k", 400, "bad-query"),
        (
            "/v1/jobs?circuit=chain&priority=1",
            octets,
            "k",
            400,
            "bad-query",
        ),
        (
            "/v1/jobs?circuit=chain&colour=red",
            octets,
            "k",
            400,
            "bad-query",
        ),
        (
            "/v1/jobs?circuit=chain&deadline=soon",
            octets,
            "k",
            400,
            "bad-body",
        ),
        (
            "/v1/jobs?circuit=chain",
            "application/json",
            "k",
            400,
            "bad-query",
        ),
        ("/v1/jobs", "text/plain", "k", 415, "bad-media-type"),
        ("/v1/jobs?circuit=chain", "", "k", 415, "bad-media-type"),
        ("/v1/jobs?circuit=chain", octets, "", 400, "bad-header"),
        ("/v1/jobs?circuit=chain", octets, "a b", 400, "bad-header"),
        (
            "/v1/jobs?circuit=chain",
            octets,
            &long_key,
            400,
            "bad-header",
        ),
    ];
    for (path, media_type, key, status, code) in cases {
        let request = server
            .request("POST", path)
            .header("content-type", media_type)
            .header("idempotency-key", key)
            .body("7");
        let problem = problem(request.send().await.unwrap()).await;
        assert_eq!(
            (problem.status, problem.code.as_str()),
            (status, code),
            "{path} {media_type} {key}: {}",
            problem.detail
        );
    }
}

#[tokio::test]
async fn too_large_inputs_are_refused_however_they_come() {
    let server = server();
    let input = vec![b'7'; INPUT_BYTES_MAX + 1];
    let pieces = input
        .chunks(1024)
        .map(|piece| Ok::<_, std::io::Error>(piece.to_vec()));
    let unannounced = reqwest::Body::wrap_stream(futures::stream::iter(pieces.collect::<Vec<_>>()));
    let json = json!({"circuit": "chain", "input": "7".repeat(INPUT_BYTES_MAX)}).to_string();
    let huge = vec![b' '; 4 * INPUT_BYTES_MAX + 2 * 1024 * 1024];
    let cases = [
        ("application/octet-stream", input.into(), "body-too-large"),
        ("application/octet-stream", unannounced, "body-too-large"),
        ("application/json", json.into(), "input-too-large"),
        ("application/json", huge.into(), "body-too-large"),
    ];
    for (media_type, body, code) in cases {
        let path = if media_type.ends_with("json") {
            "/v1/jobs"
        } else {
            "/v1/jobs?circuit=chain"
        };
        let request = server
            .request("POST", path)
            .header("content-type", media_type)
            .body::<reqwest::Body>(body);
        let problem = problem(request.send().await.unwrap()).await;
        assert_eq!((problem.status, problem.code.as_str()), (413, code));
    }
}

#[tokio::test]
async fn a_client_that_still_sends_its_large_body_learns_why_it_is_refused() {
    let server = server();
    for _ in 0..10 {
        let request = server
            .request("POST", "/v1/jobs?circuit=chain")
            .header("content-type", "application/octet-stream")
            .body(vec![b'7'; 32 * 1024 * 1024]);
        let problem = problem(request.send().await.unwrap()).await;
        assert_eq!(problem.code, "body-too-large");
    }
}

#[tokio::test]
async fn foreign_pages_and_rebound_names_are_refused() {
    let server = server();
    let rebound = server
        .request("GET", "/v1/jobs")
        .header("host", "evil.example");
    let answer = problem(rebound.send().await.unwrap()).await;
    assert_eq!((answer.status, answer.code.as_str()), (421, "wrong-host"));
    let posted = server
        .request("POST", &format!("{JOB}/retry"))
        .header("origin", "http://evil.example");
    let answer = problem(posted.send().await.unwrap()).await;
    assert_eq!(
        (answer.status, answer.code.as_str()),
        (403, "foreign-origin")
    );
}

#[tokio::test]
async fn a_coordinator_that_is_not_ready_says_so_and_lives() {
    let server = server();
    let alive = server.request("GET", "/healthz").send().await.unwrap();
    assert_eq!(alive.status(), 200);
    assert_eq!(alive.headers()["x-content-type-options"], "nosniff");
    let ready = server.request("GET", "/readyz").send().await.unwrap();
    assert_eq!(ready.headers()["retry-after"], "2");
    assert_eq!(problem(ready).await.code, "unavailable");
}

#[tokio::test]
async fn an_address_that_others_reach_is_refused_without_keys() {
    let mut open = config(0);
    open.listen = ([0, 0, 0, 0], 0).into();
    let handle = CoordinatorHandle::detached();
    let refused = serve(handle.clone(), open.clone()).map(|_| ()).unwrap_err();
    assert!(matches!(refused, ServeError::NotLoopback { .. }));
    assert!(refused.to_string().contains("--insecure-http"), "{refused}");
    open.is_insecure_allowed = true;
    assert!(serve(handle, open).is_ok());
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let server = server();
    let refused = serve(CoordinatorHandle::detached(), config(server.address.port()))
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(refused, ServeError::PortTaken { .. }), "{refused}");
}
