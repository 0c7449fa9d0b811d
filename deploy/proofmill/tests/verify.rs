//! Parameters that the command generates, proofs that bellperson makes with them, verified by the command offline.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bellperson::groth16::{Parameters, create_random_proof};
use blstrs::Bls12;
use proofmill_shared::groth16::scalar_to_be;
use proofmill_shared::protocol::Digest;
use proofmill_synth_worker::circuit::{Chain, CircuitProgram};
use serde_json::{Value, json};
use tempfile::TempDir;

const INPUT: &[u8] = br#"{"start": 3, "partitions": 2}"#;

fn proofmill(home: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_proofmill"))
        .args(args)
        .current_dir(home)
        .env("PROOFMILL_HOME", home.join("store"))
        .output()
        .expect("the command starts")
}

/// Runs a command that must succeed, and reads its JSON.
fn json_of(home: &Path, args: &[&str]) -> Value {
    let output = proofmill(home, args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
    serde_json::from_slice(&output.stdout).expect("the result is JSON")
}

/// Runs a command that must fail, and reads exit code and error code.
fn failure_of(home: &Path, args: &[&str]) -> (i32, String) {
    let output = proofmill(home, args);
    let error: Value = serde_json::from_slice(&output.stderr).expect("the error is JSON");
    let code = error["error"]["code"].as_str().expect("errors have a code");
    let exit = output.status.code().expect("the command exits");
    (exit, code.to_owned())
}

/// A folder with parameters for `chain-1k`, its input, and a proof file made by bellperson.
struct Proved {
    folder: TempDir,
    proof: Value,
    params: PathBuf,
}

impl Proved {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let generated = json_of(folder.path(), &["--json", "params", "generate", "chain-1k"]);
        let params = PathBuf::from(generated["path"].as_str().expect("it has a path"));
        let file = BufReader::new(File::open(&params).expect("the key is there"));
        let key = Parameters::<Bls12>::read(file, true).expect("bellperson reads the key");

        let program = Chain::named("chain-1k", 1_000);
        let input = program.parse(INPUT).expect("a good input");
        let mut public_inputs = Vec::new();
        let partitions: Vec<Value> = (0..2)
            .map(|partition| {
                let circuit = program.circuit(&input, partition).expect("a partition");
                let proof = create_random_proof(circuit, &key, &mut rand::rngs::OsRng);
                let mut bytes = Vec::new();
                proof
                    .expect("a proof")
                    .write(&mut bytes)
                    .expect("a vector takes all");
                let inputs = program
                    .public_inputs(&input, partition)
                    .expect("public inputs");
                let words: Vec<Digest> = inputs.iter().map(|x| Digest(scalar_to_be(x))).collect();
                public_inputs.push(inputs);
                json!({
                    "proof": hex::encode(bytes),
                    "public_inputs": words,
                    "verifying_key": generated["verifying_key"],
                    "device": "cpu",
                })
            })
            .collect();
        let id = "0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11";
        let proof = json!({
            "id": id,
            "trace_id": "0197c1e87d1c7b3a9c9e2f5f0a6d1b11",
            "circuit": "chain-1k@1",
            "partitions": partitions,
            "output": program.finish(&input, &public_inputs).expect("they join"),
            "links": {"self": "/", "proof": "/", "timeline": "/", "events": "/"},
        });
        fs::write(folder.path().join("input.json"), INPUT).expect("a writable folder");
        Self {
            folder,
            proof,
            params,
        }
    }

    fn home(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the proof file, changed.
    fn write(&self, change: impl FnOnce(&mut Value)) {
        let mut proof = self.proof.clone();
        change(&mut proof);
        fs::write(self.home().join("proof.json"), proof.to_string()).expect("a writable folder");
    }
}

#[test]
fn good_proofs_verify_and_their_output_follows_from_the_input() {
    let proved = Proved::new();
    proved.write(|_| {});
    let stated = json_of(proved.home(), &["--json", "verify", "proof.json"]);
    assert_eq!(
        (&stated["partitions"], &stated["is_output_checked"]),
        (&json!(2), &json!(false))
    );
    let with_input = ["--json", "verify", "proof.json", "--input", "input.json"];
    let checked = json_of(proved.home(), &with_input);
    assert_eq!(checked["is_output_checked"], true);
    assert_eq!(checked["output"]["steps"], 2000);
    let params = proved.params.to_str().unwrap();
    let from_file = ["--json", "verify", "proof.json", "--params", params];
    assert_eq!(json_of(proved.home(), &from_file)["partitions"], 2);
    let people = proofmill(proved.home(), &["verify", "proof.json"]);
    assert!(
        String::from_utf8(people.stdout)
            .unwrap()
            .starts_with("2 proofs are valid")
    );
}

#[test]
fn every_kind_of_wrong_proof_is_named() {
    let proved = Proved::new();
    let verify = || failure_of(proved.home(), &["--json", "verify", "proof.json"]);
    proved.write(|proof| proof["partitions"][1]["public_inputs"][0] = json!("00".repeat(32)));
    assert_eq!(verify(), (1, "invalid-proof".to_owned()));
    proved.write(|proof| proof["partitions"][1] = proof["partitions"][0].take());
    assert_eq!(verify(), (1, "bad-proof-file".to_owned()));
    proved.write(|proof| {
        let (first, second) = (
            proof["partitions"][0]["proof"].take(),
            &mut proof["partitions"][1],
        );
        second["proof"] = first.clone();
        proof["partitions"][0]["proof"] = first;
    });
    assert_eq!(verify(), (1, "invalid-proof".to_owned()));
    proved.write(|proof| proof["partitions"][0]["proof"] = json!("00".repeat(192)));
    assert_eq!(verify(), (1, "malformed-proof".to_owned()));
    proved.write(|proof| proof["partitions"][0]["proof"] = json!("c0"));
    assert_eq!(verify(), (1, "malformed-proof".to_owned()));
    proved.write(|proof| proof["partitions"][0]["public_inputs"][0] = json!("ff".repeat(32)));
    assert_eq!(verify(), (1, "malformed-public-input".to_owned()));
    proved.write(|proof| proof["partitions"][0]["public_inputs"] = json!([]));
    assert_eq!(verify(), (1, "invalid-proof".to_owned()));
    proved.write(|proof| proof["partitions"][0]["verifying_key"] = json!("00".repeat(32)));
    assert_eq!(verify(), (1, "other-key".to_owned()));
    proved.write(|proof| proof["partitions"] = json!([]));
    assert_eq!(verify(), (1, "bad-proof-file".to_owned()));
    proved.write(|proof| proof["circuit"] = json!("nowhere"));
    assert_eq!(verify(), (2, "unknown-circuit".to_owned()));
    fs::write(proved.home().join("proof.json"), "no proof").unwrap();
    assert_eq!(verify(), (1, "bad-proof-file".to_owned()));
}

#[test]
fn valid_proofs_of_something_else_are_told_apart() {
    let proved = Proved::new();
    let home = proved.home();
    proved.write(|_| {});
    let other = ["--json", "verify", "proof.json", "--circuit", "chain"];
    assert_eq!(failure_of(home, &other), (1, "other-circuit".to_owned()));
    let with_input = ["--json", "verify", "proof.json", "--input", "input.json"];
    proved.write(|proof| proof["output"]["end"] = json!("00".repeat(32)));
    assert_eq!(
        failure_of(home, &with_input),
        (1, "other-output".to_owned())
    );
    proved.write(|proof| proof["partitions"].as_array_mut().unwrap().truncate(1));
    assert_eq!(
        failure_of(home, &with_input),
        (3, "output-mismatch".to_owned())
    );
    fs::write(home.join("input.json"), "{}").unwrap();
    assert_eq!(
        failure_of(home, &with_input),
        (3, "malformed-input".to_owned())
    );
}

#[test]
fn parameters_are_generated_once_listed_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let check = ["--json", "params", "check", "chain-1k"];
    assert_eq!(failure_of(home, &check), (1, "missing-params".to_owned()));
    let generate = ["--json", "params", "generate", "chain-1k"];
    let first = json_of(home, &generate);
    let second = json_of(home, &generate);
    assert_eq!(
        (&first["is_new"], &second["is_new"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(first["key"], second["key"]);
    assert!(
        first["warning"]
            .as_str()
            .unwrap()
            .contains("DEVELOPMENT SET-UP")
    );
    assert_eq!(json_of(home, &check)["key"], first["key"]);
    let info = json_of(home, &["--json", "params", "info", "chain-1k"]);
    assert_eq!(info["params"]["key"], first["key"]);
    let listed = json_of(home, &["--json", "params", "list"]);
    let with_params = listed["circuits"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|c| !c["bytes"].is_null());
    assert_eq!(with_params.count(), 1);
    let people = proofmill(home, &["params", "generate", "chain-1k"]);
    assert!(String::from_utf8(people.stderr).unwrap().contains("forge"));
}

#[test]
fn damaged_or_foreign_parameters_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let generated = json_of(home, &["--json", "params", "generate", "chain-1k"]);
    let path = generated["path"].as_str().unwrap();
    let foreign = ["--json", "params", "check", "chain", "--params", path];
    assert_eq!(failure_of(home, &foreign), (1, "bad-params".to_owned()));
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
    let check = ["--json", "params", "check", "chain-1k"];
    assert_eq!(failure_of(home, &check), (1, "bad-params".to_owned()));
    let unknown = ["--json", "params", "generate", "nowhere"];
    assert_eq!(
        failure_of(home, &unknown),
        (2, "unknown-circuit".to_owned())
    );
}
