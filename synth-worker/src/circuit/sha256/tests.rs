//! Digests of files through witness, shape and finish; and witnesses that must not satisfy.

use proofmill_shared::groth16::{Assignment, Shape};
use sha2::Digest as _;

use super::*;
use crate::circuit::RegisteredCircuit;

/// Constraint rows that the checks in these tests look through: all of them.
fn first_unsatisfied(shape: &Shape, assignment: &Assignment) -> Option<usize> {
    shape.first_unsatisfied(assignment).unwrap()
}

#[test]
fn files_of_every_padding_give_their_digest() {
    let circuit = RegisteredCircuit::new(Sha256::with_blocks(2));
    let shape = circuit.shape().unwrap();
    assert_eq!(shape.domain_size(), 1 << 16, "{} rows", shape.num_rows());
    for len in [0, 1, 55, 56, 63, 64, 119, 120, 128, 1000] {
        let file: Vec<u8> = (0..len)
            .map(|index| u8::try_from(index % 251).unwrap())
            .collect();
        let input = circuit.parse(&file).unwrap();
        let plan = circuit.plan(&input).unwrap();
        assert_eq!(plan.shape, shape.digest);
        let proofs: Vec<Vec<Scalar>> = (0..plan.partition_count)
            .map(|partition| {
                let assignment = circuit.witness(&input, partition).unwrap();
                assert_eq!(
                    first_unsatisfied(&shape, &assignment),
                    None,
                    "length {len}, partition {partition}"
                );
                assignment.input[1..].to_vec()
            })
            .collect();
        let output = circuit.finish(&input, &proofs).unwrap();
        assert_eq!(
            output["sha256"],
            hex::encode(sha2::Sha256::digest(&file)),
            "length {len}"
        );
    }
}

#[test]
fn the_shape_does_not_depend_on_the_file() {
    let program = Sha256::with_blocks(1);
    let shapes = [b"".as_slice(), b"abc", &[7; 500]].map(|file| {
        let input = program.parse(file).unwrap();
        Shape::record(program.circuit(&input, 0).unwrap())
            .unwrap()
            .digest
    });
    assert_eq!(shapes, [Shape::record(program.blank()).unwrap().digest; 3]);
}

#[test]
fn a_tampered_witness_names_a_constraint() {
    let circuit = RegisteredCircuit::new(Sha256::with_blocks(1));
    let shape = circuit.shape().unwrap();
    let input = circuit.parse(b"abc").unwrap();
    let honest = circuit.witness(&input, 0).unwrap();
    let mut tampered = honest.clone();
    let middle = tampered.aux.len() / 2;
    tampered.aux[middle] += Scalar::from(1);
    assert!(first_unsatisfied(&shape, &tampered).is_some());
    for public in 1..honest.input.len() {
        let mut tampered = honest.clone();
        tampered.input[public] += Scalar::from(1);
        assert!(
            first_unsatisfied(&shape, &tampered).is_some(),
            "public input {public}"
        );
    }
}

#[test]
fn a_count_beyond_the_group_and_a_switch_after_a_gap_are_unsatisfiable() {
    let program = Sha256::with_blocks(2);
    let circuit = RegisteredCircuit::new(program);
    let shape = circuit.shape().unwrap();
    let input = circuit.parse(b"abc").unwrap();
    let honest = circuit.witness(&input, 0).unwrap();
    let count = honest.input.len() - 1;
    assert_eq!(honest.input[count], Scalar::from(1));
    for lie in [0, 2, 3] {
        let mut tampered = honest.clone();
        tampered.input[count] = Scalar::from(lie);
        assert!(
            first_unsatisfied(&shape, &tampered).is_some(),
            "count {lie}"
        );
    }
    // The first switch is the first aux variable after the 256 bits of the state before.
    let mut gap = honest.clone();
    assert_eq!(gap.aux[256], Scalar::from(1));
    gap.aux[256] = Scalar::from(0);
    gap.input[count] = Scalar::from(0);
    assert!(first_unsatisfied(&shape, &gap).is_some());
}

#[test]
fn proofs_that_do_not_chain_are_refused() {
    let circuit = RegisteredCircuit::new(Sha256::with_blocks(1));
    let input = circuit.parse(&[3; 100]).unwrap();
    let proofs: Vec<Vec<Scalar>> = (0..2)
        .map(|partition| circuit.witness(&input, partition).unwrap().input[1..].to_vec())
        .collect();
    circuit.finish(&input, &proofs).unwrap();
    let other = circuit.parse(&[4; 100]).unwrap();
    let mut zero_count = proofs.clone();
    zero_count[0][4] = Scalar::from(0);
    for (what, circuit_input, proofs) in [
        (
            "swapped",
            &input,
            vec![proofs[1].clone(), proofs[0].clone()],
        ),
        ("one missing", &input, vec![proofs[0].clone()]),
        ("another file's", &other, proofs.clone()),
        ("no block switched on", &input, zero_count),
        (
            "inputs missing",
            &input,
            vec![proofs[0][..4].to_vec(), proofs[1].clone()],
        ),
    ] {
        let refused = circuit.finish(circuit_input, &proofs);
        assert!(
            matches!(refused, Err(CircuitError::OutputMismatch { .. })),
            "{what}"
        );
    }
}

#[test]
fn eight_blocks_fill_a_domain_of_two_to_the_eighteenth() {
    let circuit = RegisteredCircuit::new(Sha256::with_blocks(8));
    assert_eq!(circuit.id().to_string(), "sha256-b8@1");
    assert_eq!(circuit.shape().unwrap().domain_size(), 1 << 18);
    let input = circuit.parse(&[9; 600]).unwrap();
    let plan = circuit.plan(&input).unwrap();
    assert_eq!(plan.partition_count, 2);
    assert_eq!(
        plan.summary,
        "file of 600 bytes in 2 partitions of 8 blocks"
    );
}

#[test]
fn a_file_that_makes_too_many_partitions_is_refused_and_the_job_rejected() {
    let program = Sha256::with_blocks(1);
    let limit = 64 * 65_536 - 9;
    let largest = program.parse(&vec![0; limit]).unwrap();
    assert_eq!(program.partition_count(&largest), PARTITIONS_MAX);
    let refused = program.parse(&vec![0; limit + 1]).unwrap_err();
    assert_eq!(
        refused,
        CircuitError::InputTooLarge {
            bytes: limit + 1,
            limit
        }
    );
    assert_eq!(refused.failure().code, "input-too-large");
}
