//! Proofs against bellperson's, cancellation, and what is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bellperson::groth16::{create_proof, generate_random_parameters};
use blstrs::Bls12;
use ff::Field;
use proofmill_shared::groth16::{Check, ProvingKey, Scalar, Shape, generate_development_key};
use proofmill_shared::protocol::FailureKind;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use self::r1cs::{Densities, Order, R1cs, Witness};
use super::*;
use crate::backend::cpu::{CpuBackend, CpuCircuit};

mod agreement;
mod r1cs;

type Parameters = bellperson::groth16::Parameters<Bls12>;

/// A circuit with bellperson's key for it, on the CPU backend.
struct Loaded {
    r1cs: R1cs,
    parameters: Parameters,
    circuit: CpuCircuit,
}

fn backend() -> CpuBackend {
    CpuBackend::new(None).unwrap()
}

impl Loaded {
    /// With a key that bellperson generated.
    fn new(backend: &CpuBackend, order: &Order) -> Self {
        let r1cs = R1cs::new(order);
        let mut rng = ChaCha8Rng::seed_from_u64(order.seed);
        let parameters: Parameters = generate_random_parameters(r1cs.clone(), &mut rng)
            .unwrap_or_else(|error| panic!("no key for {order:?}: {error}"));
        let mut params_file = tempfile::NamedTempFile::new().unwrap();
        parameters.write(&mut params_file).unwrap();
        let key = ProvingKey::open(params_file.path(), Check::Full).unwrap();
        Self::load(backend, r1cs, key, parameters)
    }

    /// With a key of our own, which is sooner made.
    fn with_own_key(backend: &CpuBackend, order: &Order) -> Self {
        let r1cs = R1cs::new(order);
        let mut rng = ChaCha8Rng::seed_from_u64(order.seed);
        let shape = Shape::record(r1cs.clone()).unwrap();
        let key = generate_development_key(&shape, &mut rng, &|_| ())
            .unwrap_or_else(|error| panic!("no key for {order:?}: {error}"));
        let mut bytes = Vec::new();
        key.write(&mut bytes).unwrap();
        let parameters = Parameters::read(bytes.as_slice(), false).unwrap();
        Self::load(backend, r1cs, key, parameters)
    }

    fn load(backend: &CpuBackend, r1cs: R1cs, key: ProvingKey, parameters: Parameters) -> Self {
        let shape = Shape::record(r1cs.clone()).unwrap();
        let circuit = backend.load(Arc::new(shape), Arc::new(key)).unwrap();
        Self {
            r1cs,
            parameters,
            circuit,
        }
    }
}

fn small_order(seed: u64) -> Order {
    Order {
        num_inputs: 3,
        num_aux: 40,
        num_rows: 60,
        densities: Densities::Alternating,
        witness: Witness::Mixed,
        seed,
    }
}

fn blinding(seed: u64) -> BlindingFactors {
    BlindingFactors::random(&mut ChaCha8Rng::seed_from_u64(seed))
}

/// Counts the steps; asks to stop once a number of questions were answered with no.
struct Stopper {
    questions_left: AtomicUsize,
    steps: StepTimes,
}

impl StepObserver for Stopper {
    fn step_ended(&self, step: Step, started: Instant, ended: Instant) {
        self.steps.step_ended(step, started, ended);
    }

    fn should_stop(&self) -> bool {
        let answered =
            self.questions_left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    left.checked_sub(1)
                });
        answered.is_err()
    }
}

#[test]
fn evaluations_stand_in_for_the_matrices_byte_for_byte() {
    let backend = backend();
    for seed in 0..4 {
        let loaded = Loaded::with_own_key(&backend, &small_order(seed));
        let (circuit, assignment) = (&loaded.circuit, &loaded.r1cs.assignment);
        let shape = circuit.shape();
        let summary = Shape::summary_of_file(&shape.encode()).unwrap();
        let summary = Shape::decode_summary(&summary, shape.digest).unwrap();
        let key = Arc::new(circuit.key().clone());
        let bare = backend.load(Arc::new(summary), key).unwrap();
        let prove =
            |circuit, assignment| prove(&backend, circuit, assignment, &blinding(seed), &());

        let evaluated = Assignment {
            evaluations: Some(shape.evaluate(assignment).unwrap()),
            ..assignment.clone()
        };
        let expected = prove(circuit, assignment).unwrap().to_bytes();
        assert_eq!(prove(&bare, &evaluated).unwrap().to_bytes(), expected);
        assert_eq!(prove(circuit, &evaluated).unwrap().to_bytes(), expected);

        let refused = prove(&bare, assignment).unwrap_err();
        assert_eq!(refused.failure().kind, FailureKind::BadPayload, "{refused}");
        let mut short = evaluated.clone();
        short.evaluations.as_mut().unwrap().b.pop();
        assert!(matches!(
            prove(&bare, &short),
            Err(ProveError::Assignment(_))
        ));
    }
}

#[test]
fn proof_verifies_and_every_step_is_timed_once() {
    let backend = backend();
    let loaded = Loaded::new(&backend, &small_order(1));
    let steps = StepTimes::default();
    let verifying_key = loaded.circuit.key().vk.prepare();
    let assignment = &loaded.r1cs.assignment;
    let verified = prove_and_verify(
        &backend,
        &loaded.circuit,
        &verifying_key,
        assignment,
        &blinding(1),
        &steps,
    )
    .unwrap();
    assert_eq!(verified.public_inputs(), &assignment.input[1..]);

    let times = steps.take();
    for step in Step::ALL {
        let of_step: Vec<_> = times.iter().filter(|time| time.step == step).collect();
        assert_eq!(of_step.len(), 1, "{step:?}");
        assert!(of_step[0].started <= of_step[0].ended);
    }
    assert_eq!(times.len(), Step::ALL.len());
}

#[test]
fn stopping_at_any_question_gives_no_proof() {
    let backend = backend();
    let loaded = Loaded::new(&backend, &small_order(2));
    let mut questions = 0;
    loop {
        let stopper = Stopper {
            questions_left: AtomicUsize::new(questions),
            steps: StepTimes::default(),
        };
        let assignment = &loaded.r1cs.assignment;
        match prove(
            &backend,
            &loaded.circuit,
            assignment,
            &blinding(2),
            &stopper,
        ) {
            Err(ProveError::Cancelled) => questions += 1,
            Ok(_) => break,
            Err(error) => panic!("stopping gave another error: {error}"),
        }
        assert!(questions < 1000, "proving never ends");
    }
    // Between the steps, and within the multiplications.
    assert!(questions > 5, "only {questions} questions");
}

#[test]
fn unsatisfied_assignment_does_not_leave_as_a_proof() {
    let backend = backend();
    let loaded = Loaded::new(&backend, &small_order(3));
    let mut assignment = loaded.r1cs.assignment.clone();
    assignment.aux[1] += Scalar::ONE;
    let verifying_key = loaded.circuit.key().vk.prepare();
    let result = prove_and_verify(
        &backend,
        &loaded.circuit,
        &verifying_key,
        &assignment,
        &blinding(3),
        &(),
    );
    assert!(matches!(result, Err(ProveError::NotVerified(_))));
}

#[test]
fn assignment_of_another_circuit_is_refused() {
    let backend = backend();
    let loaded = Loaded::new(&backend, &small_order(4));
    let fewer_aux = |assignment: &mut Assignment| assignment.aux.truncate(39);
    let more_inputs = |assignment: &mut Assignment| assignment.input.push(Scalar::ONE);
    let changes: [&dyn Fn(&mut Assignment); 2] = [&fewer_aux, &more_inputs];
    for change in changes {
        let mut assignment = loaded.r1cs.assignment.clone();
        change(&mut assignment);
        let result = prove(&backend, &loaded.circuit, &assignment, &blinding(4), &());
        assert!(matches!(result, Err(ProveError::Assignment(_))));
    }
    let mut assignment = loaded.r1cs.assignment.clone();
    assignment.input[0] = Scalar::ZERO;
    let result = prove(&backend, &loaded.circuit, &assignment, &blinding(4), &());
    assert!(matches!(result, Err(ProveError::LeadingOne)));
}

#[test]
fn key_of_other_counts_is_refused_at_load() {
    let backend = backend();
    let loaded = Loaded::new(&backend, &small_order(5));
    let shape = Arc::new(loaded.circuit.shape().clone());
    let shorten_h = |key: &mut ProvingKey| key.h_query.truncate(10);
    let shorten_b = |key: &mut ProvingKey| key.b_g2_query.truncate(1);
    let lengthen_a = |key: &mut ProvingKey| key.a_query.push(key.a_query[0]);
    let changes: [&dyn Fn(&mut ProvingKey); 3] = [&shorten_h, &shorten_b, &lengthen_a];
    for change in changes {
        let mut key = loaded.circuit.key().clone();
        change(&mut key);
        let result = backend.load(Arc::clone(&shape), Arc::new(key));
        assert!(matches!(result, Err(crate::backend::BackendError::Key(_))));
    }
}

#[test]
fn two_proofs_of_one_assignment_differ_by_their_blinding() {
    let backend = backend();
    let loaded = Loaded::new(&backend, &small_order(6));
    let proof = |seed| {
        let assignment = &loaded.r1cs.assignment;
        prove(&backend, &loaded.circuit, assignment, &blinding(seed), &()).unwrap()
    };
    assert_eq!(proof(1), proof(1));
    let (first, second) = (proof(1), proof(2));
    assert!(first.a != second.a && first.b != second.b && first.c != second.c);
}
