//! The coordinator as a process: what it refuses at start, and how it says so.

use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Output};

/// Runs the program to its end, in a folder without a configuration file.
fn coordinator(args: &[&str], variables: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Command::new(env!("CARGO_BIN_EXE_coordinator"))
        .args(args)
        .current_dir(folder.path())
        .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT")
        .envs(variables.iter().copied())
        .output()
        .expect("the program starts")
}

#[test]
fn a_redis_that_is_not_there_gives_4_and_says_what_to_do() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("redis://:hunter2@{}", listener.local_addr().unwrap());
    drop(listener);
    let output = coordinator(&["--broker-url", &url], &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("cannot be reached"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn a_bad_configuration_gives_2_and_names_the_key() {
    for (args, variables, named) in [
        (&["--fly"][..], &[][..], "--fly"),
        (&["--listen", "nowhere"], &[], "coordinator.listen"),
        (&["--broker-url", "http://127.0.0.1"], &[], "broker.url"),
        (&["--config", "missing.toml"], &[], "missing.toml"),
        (
            &[],
            &[("PROOFMILL_COORDINATOR__COLOUR", "red")],
            "PROOFMILL_COORDINATOR__COLOUR",
        ),
        (
            &[],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4317")],
            "otlp endpoint",
        ),
    ] {
        let output = coordinator(args, variables);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(named), "{args:?}: {said}");
    }
}
