use blstrs::Bls12;

use super::super::circuits::{Cubic, assignment_of, key_of, outside_subgroup, prove, shape_of};
use super::super::{PreparedVerifyingKey, Scalar, VerifyError};
use super::*;

fn circuit() -> Cubic {
    Cubic {
        x: Some(Scalar::from(3)),
        links: 3,
    }
}

/// A valid proof, the key it verifies with and its public inputs.
fn valid() -> (Proof, PreparedVerifyingKey, Vec<Scalar>) {
    let key = key_of(&shape_of(circuit()), 1);
    let inputs = assignment_of(circuit()).input[1..].to_vec();
    (prove(circuit(), &key), key.vk.prepare(), inputs)
}

fn point(element: char, fault: PointFault) -> ProofError {
    ProofError::Point { element, fault }
}

#[test]
fn a_proof_has_the_bytes_that_bellperson_gives_it() {
    let (proof, ..) = valid();
    let Proof { a, b, c } = proof.clone();
    let mut expected = Vec::new();
    bellperson::groth16::Proof::<Bls12> { a, b, c }
        .write(&mut expected)
        .unwrap();
    assert_eq!(proof.to_bytes()[..], expected);
    assert_eq!(Proof::from_bytes(&expected), Ok(proof));
}

#[test]
fn short_and_padded_proofs_are_refused() {
    let bytes = valid().0.to_bytes();
    for found in [0, 191, 193] {
        let bytes: Vec<u8> = bytes.iter().copied().cycle().take(found).collect();
        let expected = Proof::BYTES;
        assert_eq!(
            Proof::from_bytes(&bytes),
            Err(ProofError::Length { expected, found })
        );
    }
}

#[test]
fn identity_and_points_outside_the_subgroup_are_refused() {
    let bytes = valid().0.to_bytes();
    for (element, start, end) in [('A', 0, 48), ('B', 48, 144), ('C', 144, 192)] {
        let mut changed = bytes;
        changed[start..end].fill(0);
        changed[start] = 0xc0;
        assert_eq!(
            Proof::from_bytes(&changed),
            Err(point(element, PointFault::Identity))
        );
        // Without the mark of a compressed point.
        changed[start] = 0x40;
        assert_eq!(
            Proof::from_bytes(&changed),
            Err(point(element, PointFault::Encoding))
        );
        changed[start..end].fill(0xff);
        assert_eq!(
            Proof::from_bytes(&changed),
            Err(point(element, PointFault::Encoding))
        );
    }
    let mut changed = bytes;
    changed[144..].copy_from_slice(&outside_subgroup().to_compressed());
    assert_eq!(
        Proof::from_bytes(&changed),
        Err(point('C', PointFault::Subgroup))
    );
}

#[test]
fn a_valid_proof_verifies_and_keeps_its_public_inputs() {
    let (proof, key, inputs) = valid();
    let verified = proof.clone().verify(&key, &inputs).unwrap();
    assert_eq!(verified.proof(), &proof);
    assert_eq!(verified.public_inputs(), inputs);
}

#[test]
fn other_inputs_another_key_and_a_changed_proof_are_refused() {
    let (proof, key, inputs) = valid();
    let other_inputs = [inputs[0] + Scalar::from(1)];
    assert_eq!(
        proof.clone().verify(&key, &other_inputs),
        Err(VerifyError::Refused)
    );
    let other_key = key_of(&shape_of(circuit()), 2).vk.prepare();
    assert_eq!(
        proof.clone().verify(&other_key, &inputs),
        Err(VerifyError::Refused)
    );
    let changed = Proof {
        c: proof.a,
        ..proof
    };
    assert_eq!(changed.verify(&key, &inputs), Err(VerifyError::Refused));
}

#[test]
fn a_wrong_number_of_public_inputs_is_an_error() {
    let (proof, key, inputs) = valid();
    for found in [0, 2] {
        let inputs = vec![inputs[0]; found];
        let error = proof.clone().verify(&key, &inputs).unwrap_err();
        assert_eq!(error, VerifyError::InputCount { expected: 1, found });
    }
}

#[test]
fn what_cannot_be_encoded_and_read_back_does_not_verify() {
    let (proof, key, inputs) = valid();
    let identity = Proof {
        a: G1Affine::default(),
        ..proof.clone()
    };
    let error = identity.verify(&key, &inputs).unwrap_err();
    assert_eq!(error, VerifyError::Proof(point('A', PointFault::Identity)));
    let outside = Proof {
        c: outside_subgroup(),
        ..proof
    };
    let error = outside.verify(&key, &inputs).unwrap_err();
    assert_eq!(error, VerifyError::Proof(point('C', PointFault::Subgroup)));
}
