//! The exit code and the message say what went wrong, and what to do.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Output};
use std::thread;

const JOB: &str = "0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11";

fn proofmill(url: &str, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_proofmill"))
        .args(args)
        .env("PROOFMILL_URL", url)
        .env_remove("PROOFMILL_API_KEY")
        .output()
        .expect("the command starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("messages are text")
}

/// The address of a port at which nobody listens any more.
fn nobody() -> String {
    url(&listener())
}

fn listener() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port")
}

fn url(listener: &TcpListener) -> String {
    let address = listener
        .local_addr()
        .expect("a bound listener has an address");
    format!("http://{address}")
}

#[test]
fn a_coordinator_that_is_not_there_gives_4() {
    let url = nobody();
    for args in [
        &["jobs"][..],
        &["workers"],
        &["circuits"],
        &["job", JOB],
        &["cancel", JOB],
        &["retry", JOB],
        &["proof", JOB],
        &["timeline", JOB],
        &["submit", "chain", "--input-json", "{}"],
    ] {
        let output = proofmill(&url, args);
        assert_eq!(output.status.code(), Some(4), "{args:?}");
        assert!(output.stdout.is_empty());
        let said = stderr(&output);
        assert!(
            said.contains("proofmill up") && said.contains("refused"),
            "{said}"
        );
    }
}

#[test]
fn a_program_reads_the_error_as_json() {
    let output = proofmill(&nobody(), &["jobs", "--json"]);
    assert_eq!(output.status.code(), Some(4));
    let error: serde_json::Value = serde_json::from_str(&stderr(&output)).unwrap();
    assert_eq!(error["error"]["code"], "unreachable");
}

#[test]
fn a_wrong_command_line_gives_2() {
    for (url, args) in [
        ("http://127.0.0.1:1", &["fly"][..]),
        ("http://127.0.0.1:1", &["submit", "chain"]),
        (
            "http://127.0.0.1:1",
            &["submit", "chain", "--input-json", "{"],
        ),
        ("http://127.0.0.1:1", &["submit", "chain", "no/such/file"]),
        ("127.0.0.1", &["jobs"]),
        ("ftp://127.0.0.1", &["jobs"]),
        ("http://127.0.0.1:1", &["jobs", "--api-key", "a\nb"]),
    ] {
        let output = proofmill(url, args);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{args:?} {}",
            stderr(&output)
        );
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn somebody_else_at_the_address_is_not_taken_for_a_coordinator() {
    let listener = listener();
    let url = url(&listener);
    let other = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        assert_ne!(stream.read(&mut request).unwrap(), 0);
        let answer =
            "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\n<h1>\x1b[2J</h1>";
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let output = proofmill(&url, &["jobs"]);
    other.join().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("check PROOFMILL_URL"));
    assert!(!output.stderr.contains(&0x1b), "{}", stderr(&output));
}
