//! Jobs over HTTP on a real coordinator, without workers: what is accepted, followed, cancelled and refused.

use std::time::{Duration, Instant};

use futures::StreamExt;
use proofmill_shared::protocol::JobId;
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

use super::fixture::{START, TestServer, problem, running, running_with_queue};

/// How long a test waits for what must come at once.
const SOON: Duration = Duration::from_secs(10);

fn submission(server: &TestServer, body: &Value) -> RequestBuilder {
    server
        .request("POST", "/v1/jobs")
        .header("content-type", "application/json")
        .body(body.to_string())
}

async fn json_of(response: Response) -> Value {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

async fn submit(server: &TestServer) -> Value {
    let body = json!({"circuit": "chain", "input": {"length": 3}});
    let response = submission(server, &body).send().await.unwrap();
    assert_eq!(response.status(), 201);
    json_of(response).await
}

async fn cancel(server: &TestServer, path: &str) -> Response {
    server.request("DELETE", path).send().await.unwrap()
}

#[actix_web::test]
async fn an_accepted_job_is_found_under_its_links() {
    let server = running().await;
    let body = json!({"circuit": "chain@1", "input": [1, 2], "priority": "high", "deadline": "1h"});
    let response = submission(&server, &body).send().await.unwrap();
    assert_eq!(response.status(), 201);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let job = json_of(response).await;
    assert_eq!(job["links"]["self"], location.as_str());
    assert_eq!(job["priority"], "high");
    let id: JobId = job["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(job["trace_id"], format!("{:032x}", id.trace_id()));
    assert!(job["deadline"].as_u64().unwrap() > START.0);

    let found = server.request("GET", &location).send().await.unwrap();
    assert_eq!(json_of(found).await["id"], job["id"]);
    let timeline = job["links"]["timeline"].as_str().unwrap();
    let timeline = json_of(server.request("GET", timeline).send().await.unwrap()).await;
    assert_eq!(timeline["trace_id"], job["trace_id"]);
    let proof = job["links"]["proof"].as_str().unwrap();
    let proof = problem(server.request("GET", proof).send().await.unwrap()).await;
    assert_eq!((proof.status, proof.code.as_str()), (409, "wrong-state"));
}

#[actix_web::test]
async fn a_repeated_submission_with_its_key_gives_the_same_job() {
    let server = running().await;
    let octets = |input: &'static str| {
        server
            .request("POST", "/v1/jobs?circuit=chain&deadline=1h")
            .header("content-type", "application/octet-stream")
            .header("idempotency-key", "key-1")
            .body(input)
    };
    let first = octets("7").send().await.unwrap();
    assert_eq!(first.status(), 201);
    let first = json_of(first).await;
    let second = octets("7").send().await.unwrap();
    assert_eq!(second.status(), 200);
    assert_eq!(json_of(second).await["id"], first["id"]);
    let other = problem(octets("8").send().await.unwrap()).await;
    assert_eq!(
        (other.status, other.code.as_str()),
        (409, "idempotency-conflict")
    );
    // The same bytes by another way are the same request.
    let body = json!({"circuit": "chain", "input_base64": "Nw=="});
    let third = submission(&server, &body).header("idempotency-key", "key-1");
    assert_eq!(
        json_of(third.send().await.unwrap()).await["id"],
        first["id"]
    );
}

#[actix_web::test]
async fn what_the_coordinator_refuses_has_its_code() {
    let server = running().await;
    let unknown = JobId::generate();
    let chain = |deadline| json!({"circuit": "chain", "input": 1, "deadline": deadline});
    for (body, status, code) in [
        (
            json!({"circuit": "nowhere", "input": 1}),
            422,
            "unknown-circuit",
        ),
        (chain(json!("0s")), 422, "deadline-passed"),
        (chain(json!(1)), 422, "deadline-passed"),
    ] {
        let refused = problem(submission(&server, &body).send().await.unwrap()).await;
        assert_eq!((refused.status, refused.code.as_str()), (status, code));
    }
    for (method, path) in [
        ("GET", format!("/v1/jobs/{unknown}")),
        ("GET", format!("/v1/jobs/{unknown}?wait=5s")),
        ("DELETE", format!("/v1/jobs/{unknown}")),
        ("GET", format!("/v1/jobs/{unknown}/proof")),
        ("GET", format!("/v1/jobs/{unknown}/timeline")),
        ("GET", format!("/v1/jobs/{unknown}/events")),
        ("POST", format!("/v1/jobs/{unknown}/retry")),
    ] {
        let refused = problem(server.request(method, &path).send().await.unwrap()).await;
        assert_eq!(
            (refused.status, refused.code.as_str()),
            (404, "unknown-job"),
            "{method} {path}"
        );
    }
}

#[actix_web::test]
async fn a_full_queue_says_when_to_come_back() {
    let server = running_with_queue(1).await;
    submit(&server).await;
    let body = json!({"circuit": "chain", "input": 1});
    let response = submission(&server, &body).send().await.unwrap();
    assert_eq!(response.headers()["retry-after"], "2");
    let refused = problem(response).await;
    assert_eq!((refused.status, refused.code.as_str()), (503, "queue-full"));
}

#[actix_web::test]
async fn a_long_poll_answers_as_soon_as_the_job_ends() {
    let server = running().await;
    let job = submit(&server).await;
    let path = job["links"]["self"].as_str().unwrap();
    let started = Instant::now();
    let brief = server.request("GET", &format!("{path}?wait=50ms"));
    let brief = json_of(brief.send().await.unwrap()).await;
    assert_eq!(brief["ended_at"], Value::Null);
    assert!(started.elapsed() >= Duration::from_millis(50));

    let long = server.request("GET", &format!("{path}?wait=55s")).send();
    let (long, cancelled) = futures::join!(long, cancel(&server, path));
    assert_eq!(cancelled.status(), 200);
    assert_eq!(json_of(long.unwrap()).await["state"], "cancelled");
    assert!(started.elapsed() < SOON);
    let again = problem(cancel(&server, path).await).await;
    assert_eq!((again.status, again.code.as_str()), (409, "wrong-state"));
}

#[actix_web::test]
async fn an_event_stream_begins_with_the_state_and_ends_with_the_job() {
    let server = running().await;
    let job = submit(&server).await;
    let path = job["links"]["self"].as_str().unwrap();
    let events = job["links"]["events"].as_str().unwrap();
    let response = server.request("GET", events).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut pieces = response.bytes_stream();
    let first = pieces.next().await.unwrap().unwrap();
    let first = String::from_utf8(first.to_vec()).unwrap();
    assert!(first.starts_with("event: job\ndata: {"), "{first}");
    assert_eq!(cancel(&server, path).await.status(), 200);
    let rest = async {
        let mut rest = String::new();
        while let Some(piece) = pieces.next().await {
            rest.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
        }
        rest
    };
    let rest = tokio::time::timeout(SOON, rest).await.unwrap();
    let last = rest.rsplit("event: job\ndata: ").next().unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["state"], "cancelled");
    assert_eq!(last["links"]["events"], events);

    // Of a job that has ended there is one event.
    let response = server.request("GET", events).send().await.unwrap();
    let text = tokio::time::timeout(SOON, response.text())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(text.matches("event: job").count(), 1);
}

#[actix_web::test]
async fn jobs_are_listed_by_pages_newest_first() {
    let server = running().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(submit(&server).await["id"].clone());
    }
    ids.reverse();
    let mut listed = Vec::new();
    let mut next = Some("/v1/jobs?limit=2".to_owned());
    while let Some(path) = next {
        let page = json_of(server.request("GET", &path).send().await.unwrap()).await;
        let jobs = page["jobs"].as_array().unwrap();
        assert!((1..=2).contains(&jobs.len()));
        listed.extend(jobs.iter().map(|job| job["id"].clone()));
        next = page["next"].as_str().map(str::to_owned);
    }
    assert_eq!(listed, ids);
}

#[actix_web::test]
async fn circuits_and_workers_are_listed() {
    let server = running().await;
    let circuits = server.request("GET", "/v1/circuits").send().await.unwrap();
    assert_eq!(json_of(circuits).await["circuits"][0]["id"], "chain@1");
    let workers = server.request("GET", "/v1/workers").send().await.unwrap();
    assert_eq!(json_of(workers).await["workers"], json!([]));
    let ready = server.request("GET", "/readyz").send().await.unwrap();
    assert_eq!(ready.status(), 200);
    let head = server.request("HEAD", "/readyz").send().await.unwrap();
    assert_eq!(
        (head.status().as_u16(), head.text().await.unwrap()),
        (200, String::new())
    );
}
