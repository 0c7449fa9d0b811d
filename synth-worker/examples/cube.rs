//! A circuit of one's own, and a synth worker that runs it: knowledge of x with x³ + x + 5 = y.

use bellperson::{Circuit, ConstraintSystem, SynthesisError};
use proofmill_shared::{groth16::Scalar, protocol::CircuitId};
use proofmill_synth_worker::circuit::{CircuitError, CircuitProgram, CircuitRegistry};

struct Cube;
struct CubeCircuit(Option<Scalar>);

fn output(x: Scalar) -> Scalar {
    x * x * x + x + Scalar::from(5)
}

impl CircuitProgram for Cube {
    type Input = Scalar;
    type Circuit = CubeCircuit;
    fn id(&self) -> CircuitId {
        CircuitId::new("cube", 1).expect("a legal name")
    }
    fn statement(&self) -> String {
        "the prover knows x with x^3 + x + 5 = y".into()
    }
    fn input_format(&self) -> String {
        "x, a number below 2^64 as JSON".into()
    }
    fn parse(&self, raw: &[u8]) -> Result<Scalar, CircuitError> {
        let x: Result<u64, _> = serde_json::from_slice(raw);
        x.map(Scalar::from)
            .map_err(|error| CircuitError::malformed_json(&error, "a number below 2^64"))
    }
    fn blank(&self) -> CubeCircuit {
        CubeCircuit(None)
    }
    fn circuit(&self, x: &Scalar, _: u32) -> Result<CubeCircuit, CircuitError> {
        Ok(CubeCircuit(Some(*x)))
    }
    fn public_inputs(&self, x: &Scalar, _: u32) -> Result<Vec<Scalar>, CircuitError> {
        Ok(vec![output(*x)])
    }
}

impl Circuit<Scalar> for CubeCircuit {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let get = |value: Option<Scalar>| value.ok_or(SynthesisError::AssignmentMissing);
        let x = cs.alloc(|| "x", || get(self.0))?;
        let square = cs.alloc(|| "x^2", || get(self.0.map(|x| x * x)))?;
        let y = cs.alloc_input(|| "y", || get(self.0.map(output)))?;
        cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, |lc| lc + square);
        let sum = |lc| lc + y - x - (Scalar::from(5), CS::one());
        cs.enforce(|| "cube", |lc| lc + square, |lc| lc + x, sum);
        Ok(())
    }
}

fn main() -> std::process::ExitCode {
    proofmill_synth_worker::main_with(CircuitRegistry::builtin().with(Cube))
}
