//! Clients that are slow, silent or greedy cost nobody else anything.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::super::limits::HEAD_TIMEOUT;
use super::fixture::TestServer;
use crate::handle::CoordinatorHandle;

#[tokio::test]
async fn half_a_head_is_given_up_and_others_are_served_meanwhile() {
    let server = TestServer::start(CoordinatorHandle::detached());
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: loc")
            .await
            .unwrap();
        slow.push(stream);
    }
    let alive = server.request("GET", "/healthz").send().await.unwrap();
    assert_eq!(alive.status(), 200);
    let mut answer = Vec::new();
    let limit = HEAD_TIMEOUT + Duration::from_secs(10);
    timeout(limit, slow[0].read_to_end(&mut answer))
        .await
        .unwrap()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&answer).contains("408"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn noise_instead_of_a_request_is_answered_or_closed() {
    let server = TestServer::start(CoordinatorHandle::detached());
    for noise in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: minus\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nzz\r\n",
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(noise).await.unwrap();
        let mut first = [0; 12];
        let read = timeout(HEAD_TIMEOUT * 3, stream.read(&mut first)).await.unwrap();
        let read = read.unwrap_or(0);
        assert!(read == 0 || first.starts_with(b"HTTP/1.1 4"), "{first:?}");
    }
    let alive = server.request("GET", "/healthz").send().await.unwrap();
    assert_eq!(alive.status(), 200);
}
