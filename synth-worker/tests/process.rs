//! The program itself, where it cannot start: what it says and how it exits.

use std::process::{Command, Output};

fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_synth-worker"))
        .args(arguments)
        .envs(variables.iter().copied())
        .output()
        .expect("the program can be run")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_absent_broker_is_named_without_its_password_and_exits_with_four() {
    // Nothing listens on port 1.
    let url = "redis://worker:hush@127.0.0.1:1";
    let output = run(&["--broker-url", url], &[]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("127.0.0.1:1"), "{said}");
    assert!(!said.contains("hush"), "{said}");
}

#[test]
fn an_unknown_key_is_named_and_exits_with_two() {
    let output = run(&[], &[("PROOFMILL_SYNTH_WORKER__SLOT", "3")]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("PROOFMILL_SYNTH_WORKER__SLOT"), "{said}");
}

#[test]
fn a_number_of_slots_that_makes_no_sense_exits_with_two() {
    let output = run(&["--slots", "0"], &[]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("synth_worker.slots"), "{said}");
}
