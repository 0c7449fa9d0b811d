//! Circuits that misbehave, each in one way, by the number they are given.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bellperson::{Circuit, ConstraintSystem, SynthesisError};
use proofmill_shared::groth16::Scalar;
use proofmill_shared::protocol::CircuitId;
use proofmill_synth_worker::circuit::{CircuitError, CircuitProgram, CircuitRegistry, parse_json};
use rayon::prelude::*;

/// Input on which the witness breaks constraint 1.
pub(crate) const LIE: u64 = 10;
/// Input on which the circuit panics.
pub(crate) const PANIC: u64 = 11;
/// Input on which a parallel part of the circuit panics.
pub(crate) const PARALLEL_PANIC: u64 = 12;
/// Input on which the circuit waits for the gate.
pub(crate) const WAIT: u64 = 13;
/// Input on which the proof's public inputs are others than the program says.
pub(crate) const CONTRADICT: u64 = 14;

/// Longest wait at the gate.
const GATE_LIMIT: Duration = Duration::from_secs(30);

/// Where circuits wait until a test lets them go on.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let is_open = self.0.0.lock().unwrap();
        let waited = self
            .0
            .1
            .wait_timeout_while(is_open, GATE_LIMIT, |is_open| !*is_open);
        drop(waited.unwrap());
    }
}

/// Knowledge of a square root, twice; all but a few numbers are honest.
pub(crate) struct Moody(pub(crate) Gate);

pub(crate) fn registry(gate: &Gate) -> CircuitRegistry {
    CircuitRegistry::empty().with(Moody(gate.clone()))
}

pub(crate) struct MoodyCircuit {
    x: Option<u64>,
    gate: Gate,
}

impl CircuitProgram for Moody {
    type Input = u64;
    type Circuit = MoodyCircuit;

    fn id(&self) -> CircuitId {
        CircuitId::new("moody", 1).unwrap()
    }

    fn statement(&self) -> String {
        "the prover knows a square root".to_owned()
    }

    fn input_format(&self) -> String {
        "a number".to_owned()
    }

    fn parse(&self, raw: &[u8]) -> Result<u64, CircuitError> {
        parse_json(raw, "a number")
    }

    fn partition_count(&self, _: &u64) -> u32 {
        2
    }

    fn blank(&self) -> MoodyCircuit {
        MoodyCircuit {
            x: None,
            gate: self.0.clone(),
        }
    }

    fn circuit(&self, x: &u64, _: u32) -> Result<MoodyCircuit, CircuitError> {
        Ok(MoodyCircuit {
            x: Some(*x),
            gate: self.0.clone(),
        })
    }

    fn public_inputs(&self, x: &u64, _: u32) -> Result<Vec<Scalar>, CircuitError> {
        let output = if *x == CONTRADICT { 1 } else { x * x };
        Ok(vec![Scalar::from(output)])
    }
}

impl MoodyCircuit {
    fn act_up(&self) {
        match self.x {
            Some(PANIC) => panic!("a mood"),
            Some(PARALLEL_PANIC) => {
                let sum: u64 = (0..1_000u64)
                    .into_par_iter()
                    .map(|number| {
                        assert!(number != 500, "a mood in parallel");
                        number
                    })
                    .sum();
                assert_eq!(sum, 0);
            }
            Some(WAIT) => self.gate.pass(),
            _ => {}
        }
    }
}

impl Circuit<Scalar> for MoodyCircuit {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        self.act_up();
        let get = |value: Option<u64>| {
            value
                .map(Scalar::from)
                .ok_or(SynthesisError::AssignmentMissing)
        };
        let x = cs.alloc(|| "x", || get(self.x))?;
        let square = cs.alloc_input(|| "square", || get(self.x.map(|x| x * x)))?;
        cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, |lc| lc + square);
        let copied = |x: u64| if x == LIE { x + 1 } else { x };
        let copy = cs.alloc(|| "copy", || get(self.x.map(copied)))?;
        cs.enforce(|| "copy", |lc| lc + copy, |lc| lc + x, |lc| lc + square);
        Ok(())
    }
}
