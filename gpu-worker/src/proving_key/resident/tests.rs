//! What stays, what goes, what is refused.

use blstrs::Scalar;
use ff::Field;
use proofmill_shared::groth16::{Assignment, Shape, generate_development_key};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use super::*;
use crate::backend::cpu::CpuBackend;

/// x² = y with x repeated `num_aux` times: the more aux variables, the larger.
#[derive(Clone)]
struct Squares {
    num_aux: usize,
}

impl bellperson::Circuit<Scalar> for Squares {
    fn synthesize<CS: bellperson::ConstraintSystem<Scalar>>(
        self,
        cs: &mut CS,
    ) -> Result<(), bellperson::SynthesisError> {
        let y = cs.alloc_input(|| "y", || Ok(Scalar::from(4u64)))?;
        for i in 0..self.num_aux {
            let x = cs.alloc(|| format!("x {i}"), || Ok(Scalar::from(2u64)))?;
            cs.enforce(|| format!("row {i}"), |lc| lc + x, |lc| lc + x, |lc| lc + y);
        }
        Ok(())
    }
}

struct Fixture {
    store: Store,
    _home: tempfile::TempDir,
    backend: Arc<CpuBackend>,
}

impl Fixture {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        Self {
            store: Store::new(home.path()),
            _home: home,
            backend: Arc::new(CpuBackend::new(None).unwrap()),
        }
    }

    /// Puts a circuit with its key into the store.
    fn stored(&self, num_aux: usize) -> Shape {
        let shape = Shape::record(Squares { num_aux }).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(num_aux as u64);
        let key = generate_development_key(&shape, &mut rng, &|_| ()).unwrap();
        self.store.put_shape(&shape).unwrap();
        self.store.put_key(shape.digest, &key).unwrap();
        shape
    }

    fn circuits(&self, budget: u64) -> ResidentCircuits<CpuBackend> {
        ResidentCircuits::new(
            Arc::clone(&self.backend),
            self.store.clone(),
            None,
            ShapeResidency::Full,
            budget,
        )
    }
}

#[test]
fn circuit_is_loaded_once_and_then_resident() {
    let fixture = Fixture::new();
    let shape = fixture.stored(5);
    let circuits = fixture.circuits(u64::MAX);
    let first = circuits.get(&shape.digest).unwrap();
    assert!(first.load_time.is_some());
    let second = circuits.get(&shape.digest).unwrap();
    assert!(second.load_time.is_none());
    assert!(Arc::ptr_eq(&first.circuit, &second.circuit));
    assert_eq!(circuits.warm(), [shape.digest]);
}

#[test]
fn least_recently_used_circuit_goes_first() {
    let fixture = Fixture::new();
    let shapes = [4, 5, 6].map(|num_aux| fixture.stored(num_aux));
    let bytes = shapes
        .each_ref()
        .map(|shape| fixture.backend.bytes_needed(shape));
    let digests = shapes.each_ref().map(|shape| shape.digest);
    let circuits = fixture.circuits(bytes.iter().sum::<u64>() - 1);
    circuits.get(&digests[0]).unwrap();
    circuits.get(&digests[1]).unwrap();
    circuits.get(&digests[0]).unwrap();
    circuits.get(&digests[2]).unwrap();
    assert_eq!(circuits.warm(), [digests[0], digests[2]]);
    assert!(circuits.get(&digests[1]).unwrap().load_time.is_some());
    assert_eq!(circuits.warm(), [digests[2], digests[1]]);
}

#[test]
fn circuit_over_the_budget_is_refused_with_the_numbers() {
    let fixture = Fixture::new();
    let shape = fixture.stored(8);
    let needed = fixture.backend.bytes_needed(&shape);
    let error = fixture.circuits(needed - 1).get(&shape.digest).unwrap_err();
    let LoadError::OverBudget { needed: told, .. } = error else {
        panic!("another error: {error}");
    };
    assert_eq!(told, needed);
    assert!(fixture.circuits(needed).get(&shape.digest).is_ok());
}

#[test]
fn key_of_another_circuit_and_missing_key_are_refused() {
    let fixture = Fixture::new();
    let (small, large) = (fixture.stored(3), fixture.stored(9));
    let store = &fixture.store;
    std::fs::copy(store.key_path(large.digest), store.key_path(small.digest)).unwrap();
    let circuits = fixture.circuits(u64::MAX);
    let error = circuits.get(&small.digest).unwrap_err();
    assert!(matches!(error, LoadError::Store(_)), "{error}");

    std::fs::remove_file(store.key_path(large.digest)).unwrap();
    let error = circuits.get(&large.digest).unwrap_err();
    assert!(matches!(error, LoadError::Store(_)), "{error}");
    assert!(circuits.warm().is_empty());
}

#[test]
fn many_threads_asking_load_once() {
    let fixture = Fixture::new();
    let shape = fixture.stored(7);
    let circuits = fixture.circuits(u64::MAX);
    let num_loads: usize = std::thread::scope(|scope| {
        let ask = || usize::from(circuits.get(&shape.digest).unwrap().load_time.is_some());
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(num_loads, 1);
}

#[test]
fn resident_circuit_proves() {
    let fixture = Fixture::new();
    let shape = fixture.stored(6);
    let circuits = fixture.circuits(u64::MAX);
    let loaded = circuits.get(&shape.digest).unwrap();
    let assignment = Assignment::new(
        vec![Scalar::ONE, Scalar::from(4u64)],
        vec![Scalar::from(2u64); 6],
    );
    let blinding = crate::prover::BlindingFactors {
        r: Scalar::from(5u64),
        s: Scalar::from(6u64),
    };
    let verified = crate::prover::prove_and_verify(
        &*fixture.backend,
        loaded.circuit.circuit(),
        loaded.circuit.verifying_key(),
        &assignment,
        &blinding,
        &(),
    );
    assert!(verified.is_ok());
}
