use std::sync::Mutex;

use bellperson::groth16::{
    Parameters, Proof as BellpersonProof, create_random_proof, generate_random_parameters,
    prepare_verifying_key, verify_proof,
};
use blstrs::Bls12;
use proptest::prelude::{ProptestConfig, Strategy, prop};
use proptest::{prop_assert, prop_assert_eq, proptest};
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, RngCore, SeedableRng};

use super::super::circuits::{Cubic, Rows, Term, assignment_of, key_of, prove, scalar, shape_of};
use super::super::{Check, Proof};
use super::*;

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(42)
}

fn generate(shape: &Shape) -> ProvingKey {
    generate_development_key(shape, &mut rng(), &|_| {}).unwrap()
}

fn bytes_of(key: &ProvingKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.write(&mut bytes).unwrap();
    bytes
}

/// Every case in which densities go wrong, satisfied.
fn awkward() -> Rows {
    Rows {
        inputs: vec![scalar(2), scalar(3)],
        aux: vec![scalar(6), scalar(5), scalar(7), scalar(1)],
        rows: vec![
            [vec![(1, 1)], vec![(2, 1)], vec![(3, 1)]],
            [vec![(0, 5), (5, 0)], vec![(4, 1), (6, 0)], vec![(4, 5)]],
            [
                vec![(5, 1), (3, 1), (5, 1), (4, 2), (4, -2)],
                vec![(0, 1), (2, 4), (2, -4)],
                vec![(0, 20)],
            ],
            [vec![(0, 1)], vec![(0, 1)], vec![(6, 1)]],
        ],
    }
}

#[test]
fn the_same_randomness_gives_the_key_that_bellperson_generates() {
    fn compare<C: bellperson::Circuit<super::super::Scalar> + Clone>(circuit: C) {
        let theirs =
            generate_random_parameters::<Bls12, _, _>(circuit.clone(), &mut rng()).unwrap();
        let mut expected = Vec::new();
        theirs.write(&mut expected).unwrap();
        let ours = generate(&shape_of(circuit));
        assert!(bytes_of(&ours) == expected, "keys differ");
        assert_eq!(ours.digest, crate::protocol::Digest::of(&expected));
    }
    compare(awkward());
    compare(Cubic {
        x: None,
        links: 700,
    });
    // Rows exactly at, and one over, a power of two: 2·links constraints and two inputs.
    compare(Cubic { x: None, links: 7 });
    compare(Cubic { x: None, links: 8 });
}

#[test]
fn bellperson_reads_the_key_proves_with_it_and_accepts() {
    let circuits = [(awkward(), "awkward"), (one_row(), "one row")];
    for (circuit, name) in circuits {
        let shape = shape_of(circuit.clone());
        let bytes = bytes_of(&generate(&shape));
        let params = Parameters::<Bls12>::read(&bytes[..], true).unwrap();
        let inputs = assignment_of(circuit.clone()).input[1..].to_vec();
        let theirs = create_random_proof(circuit, &params, &mut rng()).unwrap();
        let prepared = prepare_verifying_key(&params.vk);
        assert!(verify_proof(&prepared, &theirs, &inputs).unwrap(), "{name}");
        let key = ProvingKey::decode(&bytes, Check::Full).unwrap();
        key.fits(&shape).unwrap();
        assert!(
            ours(&theirs).verify(&key.vk.prepare(), &inputs).is_ok(),
            "{name}"
        );
    }
}

/// One constraint, one aux variable.
fn one_row() -> Rows {
    Rows {
        inputs: vec![],
        aux: vec![scalar(3)],
        rows: vec![[vec![(1, 1)], vec![(1, 1)], vec![(0, 9)]]],
    }
}

fn ours(proof: &BellpersonProof<Bls12>) -> Proof {
    Proof {
        a: proof.a,
        b: proof.b,
        c: proof.c,
    }
}

#[test]
fn a_variable_that_no_constraint_uses_is_named() {
    let mut circuit = awkward();
    circuit.aux.push(scalar(8));
    circuit
        .rows
        .push([vec![(7, 0)], vec![(7, 2), (7, -2)], vec![]]);
    let error = generate_development_key(&shape_of(circuit), &mut rng(), &|_| {}).unwrap_err();
    assert_eq!(error, SetupError::UnconstrainedVariable { aux: 4 });
}

#[test]
fn a_public_input_that_no_constraint_uses_is_fine() {
    let mut circuit = awkward();
    circuit.inputs.push(scalar(8));
    for row in &mut circuit.rows {
        for term in row.iter_mut().flatten() {
            term.0 += usize::from(term.0 > 2);
        }
    }
    let shape = shape_of(circuit);
    let key = generate(&shape);
    assert_eq!(key.vk.ic.len(), 4);
    key.fits(&shape).unwrap();
}

#[test]
fn a_circuit_without_constraints_has_a_key() {
    let shape = shape_of(Rows {
        inputs: vec![],
        aux: vec![],
        rows: vec![],
    });
    let key = generate(&shape);
    key.fits(&shape).unwrap();
    assert!(key.h_query.is_empty() && key.l_query.is_empty() && key.b_g1_query.is_empty());
    assert_eq!(
        ProvingKey::decode(&bytes_of(&key), Check::Full).unwrap(),
        key
    );
}

#[test]
fn progress_ends_at_its_total() {
    let seen = Mutex::new(Vec::new());
    let shape = shape_of(Cubic {
        x: None,
        links: 600,
    });
    let on_progress = |progress| seen.lock().unwrap().push(progress);
    let key = generate_development_key(&shape, &mut rng(), &on_progress).unwrap();
    let seen = seen.into_inner().unwrap();
    let total = key.vk.ic.len()
        + key.h_query.len()
        + key.l_query.len()
        + key.a_query.len()
        + key.b_g1_query.len()
        + key.b_g2_query.len();
    assert!(seen.iter().all(|progress| progress.total == total));
    assert_eq!(seen.iter().map(|progress| progress.done).max(), Some(total));
}

/// A source that repeats one number.
struct Stuck;

impl RngCore for Stuck {
    fn next_u32(&mut self) -> u32 {
        1
    }

    fn next_u64(&mut self) -> u64 {
        1
    }

    fn fill_bytes(&mut self, dest: &mut [u8]) {
        dest.fill(1);
    }

    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), rand_core::Error> {
        self.fill_bytes(dest);
        Ok(())
    }
}

impl CryptoRng for Stuck {}

#[test]
fn a_stuck_random_source_is_an_error() {
    let error = generate_development_key(&shape_of(one_row()), &mut Stuck, &|_| {}).unwrap_err();
    assert_eq!(error, SetupError::Randomness);
}

/// Small values of the constant one, two inputs and three aux variables.
const VALUES: [i64; 6] = [1, 2, -3, 4, 0, 1];

/// Rows that `VALUES` satisfy: any two factors, and their product as a constant next to terms that cancel.
fn satisfied_row() -> impl Strategy<Value = [Vec<Term>; 3]> {
    let factor = || prop::collection::vec((0..VALUES.len(), -3i64..=3), 0..4);
    let value = |terms: &[Term]| -> i64 { terms.iter().map(|term| VALUES[term.0] * term.1).sum() };
    (factor(), factor(), 0..VALUES.len(), -2i64..=2).prop_map(move |(a, b, variable, times)| {
        let rest = value(&a) * value(&b) - VALUES[variable] * times;
        [a, b, vec![(variable, times), (0, rest)]]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_satisfied_circuit_proves_with_our_key_and_verifies(
        rows in prop::collection::vec(satisfied_row(), 1..10),
    ) {
        let values = VALUES.map(scalar);
        let circuit = Rows { inputs: values[1..3].to_vec(), aux: values[3..].to_vec(), rows };
        let shape = shape_of(circuit.clone());
        let assignment = assignment_of(circuit.clone());
        prop_assert_eq!(shape.first_unsatisfied(&assignment).unwrap(), None);
        match qap::unconstrained_aux(&shape) {
            Some(aux) => {
                let error = generate_development_key(&shape, &mut rng(), &|_| {}).unwrap_err();
                prop_assert_eq!(error, SetupError::UnconstrainedVariable { aux });
            }
            None => {
                let key = key_of(&shape, 1);
                key.fits(&shape).unwrap();
                let proof = prove(circuit, &key);
                prop_assert!(proof.verify(&key.vk.prepare(), &assignment.input[1..]).is_ok());
            }
        }
    }
}
