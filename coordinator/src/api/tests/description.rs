//! The OpenAPI document describes what is served, no more and no less.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::fixture::TestServer;
use crate::handle::CoordinatorHandle;

/// Every path, with its methods beside HEAD.
const SERVED: [(&str, &[&str]); 14] = [
    ("/", &["GET"]),
    ("/healthz", &["GET"]),
    ("/openapi.json", &["GET"]),
    ("/readyz", &["GET"]),
    ("/v1/circuits", &["GET"]),
    ("/v1/jobs", &["GET", "POST"]),
    ("/v1/jobs/{id}", &["DELETE", "GET"]),
    ("/v1/jobs/{id}/events", &["GET"]),
    ("/v1/jobs/{id}/proof", &["GET"]),
    ("/v1/jobs/{id}/retry", &["POST"]),
    ("/v1/jobs/{id}/timeline", &["GET"]),
    ("/v1/keys/{digest}", &["GET"]),
    ("/v1/shapes/{digest}", &["GET", "PUT"]),
    ("/v1/workers", &["GET"]),
];

#[tokio::test]
async fn the_document_lists_every_route_and_every_route_is_served() {
    let server = TestServer::start(CoordinatorHandle::detached());
    let document = server.request("GET", "/openapi.json").send().await.unwrap();
    let document: Value = serde_json::from_str(&document.text().await.unwrap()).unwrap();
    let described: BTreeMap<String, BTreeSet<String>> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            (
                path.clone(),
                methods.map(|method| method.to_uppercase()).collect(),
            )
        })
        .collect();
    let served = SERVED.iter().map(|(path, methods)| {
        let methods = methods.iter().map(|&method| method.to_owned());
        ((*path).to_owned(), methods.collect())
    });
    assert_eq!(described, served.collect());

    for (path, methods) in SERVED {
        let answer = server.request("TRACE", path).send().await.unwrap();
        assert_eq!(answer.status(), 405, "{path}");
        let allow = answer.headers()["allow"].to_str().unwrap().to_owned();
        let allowed: BTreeSet<&str> = allow
            .split(", ")
            .filter(|&method| method != "HEAD")
            .collect();
        assert_eq!(allowed, methods.iter().copied().collect(), "{path}");
        for method in methods {
            let answer = server.request(method, path).send().await.unwrap();
            assert_ne!(answer.status(), 405, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn every_reference_of_the_document_leads_somewhere() {
    let server = TestServer::start(CoordinatorHandle::detached());
    let document = server.request("GET", "/openapi.json").send().await.unwrap();
    let text = document.text().await.unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let mut references = 0;
    for piece in text.split("\"$ref\":\"#").skip(1) {
        let pointer = piece.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer} is missing");
        references += 1;
    }
    assert!(references > 10, "only {references} references");
}
