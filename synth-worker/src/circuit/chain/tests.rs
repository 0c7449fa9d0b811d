//! Chains through witness, shape and finish; and inputs that must be refused.

use super::*;
use crate::circuit::{CircuitRegistry, RegisteredCircuit};

const SHORT: Chain = Chain::named("chain-short", 5);

/// Public inputs of all partitions, each checked against the shape.
fn proven(circuit: &RegisteredCircuit, input: &str) -> Vec<Vec<Scalar>> {
    let input = circuit.parse(input.as_bytes()).unwrap();
    let plan = circuit.plan(&input).unwrap();
    let shape = circuit.shape().unwrap();
    let partitions = 0..plan.partition_count;
    let prove = |partition| {
        let assignment = circuit.witness(&input, partition).unwrap();
        assert_eq!(shape.first_unsatisfied(&assignment).unwrap(), None);
        assignment.input[1..].to_vec()
    };
    partitions.map(prove).collect()
}

#[test]
fn partitions_join_into_one_chain() {
    let circuit = RegisteredCircuit::new(SHORT);
    let text = r#"{"start": 2, "partitions": 3}"#;
    let proofs = proven(&circuit, text);
    let input = circuit.parse(text.as_bytes()).unwrap();
    let output = circuit.finish(&input, &proofs).unwrap();
    let end = (0..15).fold(Scalar::from(2), |x, _| x * x + Scalar::ONE);
    assert_eq!(output["steps"], 15);
    assert_eq!(output["end"], hex::encode(scalar_to_be(&end)));
}

#[test]
fn proofs_that_do_not_join_are_refused() {
    let circuit = RegisteredCircuit::new(SHORT);
    let text = r#"{"start": 2, "partitions": 2}"#;
    let (input, proofs) = (
        circuit.parse(text.as_bytes()).unwrap(),
        proven(&circuit, text),
    );
    let elsewhere = proven(&circuit, r#"{"start": 3, "partitions": 2}"#);
    let [first, second] = [proofs[0].clone(), proofs[1].clone()];
    let mut ends_elsewhere = second.clone();
    ends_elsewhere[1] += Scalar::ONE;
    for (what, proofs) in [
        ("swapped", vec![second.clone(), first.clone()]),
        ("one missing", vec![first.clone()]),
        (
            "one too many",
            vec![first.clone(), second.clone(), second.clone()],
        ),
        ("another start", elsewhere),
        ("another end", vec![first.clone(), ends_elsewhere]),
        ("an input missing", vec![first[..1].to_vec(), second]),
    ] {
        let refused = circuit.finish(&input, &proofs);
        assert!(
            matches!(refused, Err(CircuitError::OutputMismatch { .. })),
            "{what}"
        );
    }
}

#[test]
fn a_length_is_another_way_to_say_partitions() {
    let partitions = |text: &str| {
        SHORT
            .parse(text.as_bytes())
            .map(|input| SHORT.partition_count(&input))
    };
    assert_eq!(partitions(r#"{"start": "0x02"}"#), Ok(1));
    assert_eq!(partitions(r#"{"start": "2", "length": 20}"#), Ok(4));
    assert_eq!(
        partitions(r#"{"start": 2, "length": 20, "partitions": 4}"#),
        Ok(4)
    );
}

#[test]
fn malformed_inputs_are_refused_and_the_job_rejected() {
    let modulus = "52435875175126190479447740508185965837690552500527637822603658699938581184513";
    let too_large = format!(r#"{{"start": "{modulus}"}}"#);
    for text in [
        "",
        "{",
        "[]",
        r#"{"partitions": 1}"#,
        r#"{"start": 1, "partitions": 0}"#,
        r#"{"start": 1, "partitions": 65537}"#,
        r#"{"start": 1, "partitions": 4294967296}"#,
        r#"{"start": 1, "length": 7}"#,
        r#"{"start": 1, "length": 0}"#,
        r#"{"start": 1, "length": 10, "partitions": 3}"#,
        r#"{"start": 1, "x": 2}"#,
        r#"{"start": -1}"#,
        r#"{"start": 1.5}"#,
        r#"{"start": []}"#,
        &too_large,
    ] {
        let refused = SHORT.parse(text.as_bytes()).unwrap_err();
        assert!(
            matches!(refused, CircuitError::MalformedInput { .. }),
            "{text}: {refused}"
        );
        assert_eq!(refused.failure().code, "malformed-input");
    }
    let padded = format!(r#"{{"start": 1{}}}"#, " ".repeat(INPUT_BYTES_MAX));
    let refused = SHORT.parse(padded.as_bytes()).unwrap_err();
    assert_eq!(refused.failure().code, "input-too-large");
}

#[test]
fn built_in_chains_fill_their_domains() {
    let registry = CircuitRegistry::builtin();
    for (name, log_size) in [("chain-1k", 10), ("chain", 16), ("chain-256k", 18)] {
        let shape = registry.get(&name.parse().unwrap()).unwrap().shape();
        assert_eq!(shape.unwrap().domain_size(), 1 << log_size, "{name}");
    }
}

#[test]
fn a_chain_of_one_step_has_no_private_variable() {
    let circuit = RegisteredCircuit::new(Chain::named("chain-one", 1));
    assert_eq!(circuit.shape().unwrap().num_aux, 0);
    assert_eq!(
        proven(&circuit, r#"{"start": 4}"#),
        [[Scalar::from(4), Scalar::from(17)]]
    );
}
