//! Our keys, densities and proofs against bellperson's.

use bellperson::groth16 as peer;
use bellperson::{Circuit, ConstraintSystem, LinearCombination, SynthesisError, Variable};
use blstrs::Bls12;
use ff::Field;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use super::*;

/// Rows with zero, repeated and cancelling coefficients, a variable only in B, inputs between aux variables.
#[derive(Clone)]
struct Awkward;

impl Circuit<Scalar> for Awkward {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let x = cs.alloc(|| "x", || Ok(Scalar::from(3)))?;
        let nine = cs.alloc_input(|| "nine", || Ok(Scalar::from(9)))?;
        let only_b = cs.alloc(|| "only b", || Ok(Scalar::from(5)))?;
        let y = cs.alloc(|| "y", || Ok(Scalar::from(15)))?;
        let one = CS::one();
        cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, |lc| lc + nine);
        cs.enforce(|| "product", |lc| lc + x, |lc| lc + only_b, |lc| lc + y);
        cs.enforce(
            || "zero",
            |lc| lc + (Scalar::ZERO, y) + x,
            |lc| lc + one,
            |lc| lc + x,
        );
        cs.enforce(
            || "repeated",
            |lc| lc + x + x,
            |lc| lc + one,
            |lc| lc + (Scalar::from(2), x),
        );
        cs.enforce(
            || "cancelling",
            |lc| lc + nine - nine + y - y,
            |lc| lc + one - one,
            |lc| lc,
        );
        cs.enforce(
            || "negative",
            |lc| lc - y,
            |lc| lc + one,
            |lc| lc + (-Scalar::ONE, y),
        );
        Ok(())
    }
}

fn key_of(shape: &Shape) -> ProvingKey {
    generate_key(shape, &mut ChaCha8Rng::seed_from_u64(7), |_| {}).unwrap()
}

fn assignment() -> Assignment {
    let scalars = |values: &[u64]| values.iter().map(|value| Scalar::from(*value)).collect();
    Assignment {
        input: scalars(&[1, 9]),
        aux: scalars(&[3, 5, 15]),
    }
}

#[test]
fn densities_are_those_of_bellpersons_key_generation() {
    let shape = Shape::record(Awkward).unwrap();
    let theirs =
        peer::generate_random_parameters::<Bls12, _, _>(Awkward, &mut ChaCha8Rng::seed_from_u64(1))
            .unwrap();
    assert_eq!(shape.density.a_len(), theirs.a.len());
    assert_eq!(shape.density.b_len(), theirs.b_g1.len());
    assert_eq!(shape.domain_size() - 1, theirs.h.len());
    let mut bytes = Vec::new();
    theirs.write(&mut bytes).unwrap();
    params_file::read(&bytes, Check::Full)
        .unwrap()
        .fits(&shape)
        .unwrap();
}

#[test]
fn bellperson_proves_and_verifies_with_our_key_and_we_verify_its_proof() {
    let shape = Shape::record(Awkward).unwrap();
    let key = key_of(&shape);
    key.fits(&shape).unwrap();
    let theirs = peer::Parameters::<Bls12>::read(&key.to_bytes()[..], true).unwrap();
    let proof =
        peer::create_random_proof(Awkward, &theirs, &mut ChaCha8Rng::seed_from_u64(2)).unwrap();
    let inputs = [Scalar::from(9)];
    assert!(peer::verify_proof(&peer::prepare_verifying_key(&theirs.vk), &proof, &inputs).unwrap());
    let mut bytes = Vec::new();
    proof.write(&mut bytes).unwrap();
    let ours = Proof::from_bytes(&bytes).unwrap();
    assert_eq!(ours.to_bytes().to_vec(), bytes);
    let prepared = key.vk.prepare();
    assert_eq!(
        ours.clone().verify(&prepared, &[Scalar::from(8)]),
        Err(VerifyError::Invalid)
    );
    assert_eq!(
        ours.clone().verify(&prepared, &[]),
        Err(VerifyError::InputCount {
            expected: 1,
            found: 0
        })
    );
    assert_eq!(
        ours.verify(&prepared, &inputs).unwrap().public_inputs(),
        inputs
    );
}

#[test]
fn an_unsatisfied_assignment_names_its_first_constraint() {
    let shape = Shape::record(Awkward).unwrap();
    assert_eq!(shape.first_unsatisfied(&assignment()), Ok(None));
    let mut wrong = assignment();
    wrong.aux[1] = Scalar::from(6);
    assert_eq!(shape.first_unsatisfied(&wrong), Ok(Some(1)));
    wrong.aux.pop();
    assert!(matches!(
        shape.first_unsatisfied(&wrong),
        Err(ShapeError::AssignmentLength { .. })
    ));
}

#[test]
fn a_shape_reads_back_and_a_damaged_one_is_refused() {
    let shape = Shape::record(Awkward).unwrap();
    let bytes = shape.encode();
    assert_eq!(Shape::decode(&bytes).unwrap(), shape);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(
            matches!(Shape::decode(&damaged), Err(ShapeError::Malformed { .. })),
            "byte {at}"
        );
        assert!(
            matches!(
                Shape::decode(&bytes[..at]),
                Err(ShapeError::Malformed { .. })
            ),
            "cut at {at}"
        );
    }
}

#[test]
fn a_variable_in_no_constraint_is_named() {
    struct Loose;
    impl Circuit<Scalar> for Loose {
        fn synthesize<CS: ConstraintSystem<Scalar>>(
            self,
            cs: &mut CS,
        ) -> Result<(), SynthesisError> {
            let _loose: Variable = cs.alloc(|| "loose", || Ok(Scalar::ONE))?;
            cs.enforce(
                || "one",
                |lc| lc + CS::one(),
                |lc| lc + CS::one(),
                |lc: LinearCombination<Scalar>| lc + CS::one(),
            );
            Ok(())
        }
    }
    let shape = Shape::record(Loose).unwrap();
    let refused = generate_key(&shape, &mut ChaCha8Rng::seed_from_u64(7), |_| {});
    assert_eq!(refused, Err(SetupError::UnconstrainedVariable { aux: 0 }));
}

#[test]
fn damaged_params_are_refused_by_their_fault() {
    let shape = Shape::record(Awkward).unwrap();
    let bytes = key_of(&shape).to_bytes();
    for cut in [0, 95, 900, bytes.len() - 1] {
        assert!(matches!(
            params_file::read(&bytes[..cut], Check::Full),
            Err(KeyError::Malformed { .. })
        ));
    }
    let mut padded = bytes.clone();
    padded.push(0);
    assert!(matches!(
        params_file::read(&padded, Check::Full),
        Err(KeyError::Malformed { .. })
    ));
    let mut lying = bytes.clone();
    let ic_count = 3 * 96 + 3 * 192;
    lying[ic_count..ic_count + 4].copy_from_slice(&u32::MAX.to_be_bytes());
    assert!(matches!(
        params_file::read(&lying, Check::Full),
        Err(KeyError::Malformed { .. })
    ));
    let mut flipped = bytes.clone();
    flipped[ic_count + 4 + 50] ^= 1;
    assert!(matches!(
        params_file::read(&flipped, Check::Full),
        Err(KeyError::Point {
            field: "ic",
            index: 0,
            ..
        })
    ));
    let mut identity = bytes.clone();
    identity[ic_count + 4..ic_count + 4 + 96].fill(0);
    identity[ic_count + 4] = 0x40;
    let refused = params_file::read(&identity, Check::Full);
    assert!(matches!(
        refused,
        Err(KeyError::Point {
            field: "ic",
            index: 0,
            fault: "is the identity"
        })
    ));
}

#[test]
fn keys_that_let_anyone_forge_are_refused() {
    let shape = Shape::record(Awkward).unwrap();
    let mut key = key_of(&shape);
    key.vk.gamma_g2 = key.vk.delta_g2;
    assert!(matches!(
        params_file::read(&key.to_bytes(), Check::Full),
        Err(KeyError::GammaIsDelta)
    ));
    let mut key = key_of(&shape);
    key.vk.alpha_g1 = blstrs::G1Affine::default();
    assert!(matches!(
        params_file::read(&key.to_bytes(), Check::Full),
        Err(KeyError::Point {
            field: "alpha in G1",
            ..
        })
    ));
}

#[test]
fn a_point_off_its_subgroup_is_refused() {
    let shape = Shape::record(Awkward).unwrap();
    let bytes = key_of(&shape).to_bytes();
    // A point on the curve outside the subgroup: the least x for which the unchecked decoder finds one.
    let off = (1u8..=255)
        .find_map(|x| {
            let mut compressed = [0; 48];
            (compressed[0], compressed[47]) = (0x80, x);
            let point = Option::<blstrs::G1Affine>::from(
                blstrs::G1Affine::from_compressed_unchecked(&compressed),
            )?;
            (!bool::from(point.is_torsion_free())).then(|| point.to_uncompressed())
        })
        .unwrap();
    let mut bad = bytes.clone();
    bad[..96].copy_from_slice(&off);
    let refused = params_file::read(&bad, Check::Full);
    let is_right = matches!(
        refused,
        Err(KeyError::Point {
            field: "alpha in G1",
            fault: "is not in the subgroup",
            ..
        })
    );
    assert!(is_right, "{refused:?}");
}

#[test]
fn a_key_of_another_circuit_does_not_fit() {
    struct Other;
    impl Circuit<Scalar> for Other {
        fn synthesize<CS: ConstraintSystem<Scalar>>(
            self,
            cs: &mut CS,
        ) -> Result<(), SynthesisError> {
            let x = cs.alloc(|| "x", || Ok(Scalar::ONE))?;
            cs.enforce(|| "one", |lc| lc + x, |lc| lc + x, |lc| lc + x);
            Ok(())
        }
    }
    let key = key_of(&Shape::record(Other).unwrap());
    let refused = key.fits(&Shape::record(Awkward).unwrap());
    assert!(matches!(
        refused,
        Err(KeyError::DoesNotFit {
            what: "the number of inputs",
            expected: 2,
            found: 1,
            ..
        })
    ));
}

#[test]
fn the_store_keeps_keys_and_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let shape = Shape::record(Awkward).unwrap();
    assert!(matches!(
        store.shape(&shape.digest),
        Err(StoreError::MissingShape { .. })
    ));
    assert!(matches!(
        store.open_key(&shape),
        Err(StoreError::MissingKey { .. })
    ));
    let key = key_of(&shape);
    store.put_key(&shape, &key).unwrap();
    assert_eq!(store.shape(&shape.digest).unwrap(), shape);
    assert_eq!(store.open_key(&shape).unwrap(), key);
    assert_eq!(store.open_key(&shape).unwrap(), key);
    // A file that changed since it was checked is checked again.
    let path = store.key_path(&shape.digest);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[50] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(matches!(
        store.open_key(&shape),
        Err(StoreError::Key(KeyError::Point { .. }))
    ));
}

#[test]
fn scalars_at_or_above_the_modulus_are_refused() {
    assert_eq!(
        scalar_from_be(&scalar_to_be(&Scalar::from(77))),
        Some(Scalar::from(77))
    );
    assert_eq!(scalar_from_be(&[0xff; 32]), None);
}
