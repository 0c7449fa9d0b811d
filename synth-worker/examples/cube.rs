//! A circuit of one's own, and a synth worker that runs it: knowledge of x with x³ = y.

use bellperson::{Circuit, ConstraintSystem, SynthesisError};
use ff::Field;
use proofmill_shared::{groth16::Scalar, protocol::CircuitId};
use proofmill_synth_worker::circuit::{CircuitRegistry, JsonProgram};

struct Cube(Option<Scalar>);

impl Circuit<Scalar> for Cube {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let value =
            |of: fn(Scalar) -> Scalar| self.0.map(of).ok_or(SynthesisError::AssignmentMissing);
        let x = cs.alloc(|| "x", || value(|x| x))?;
        let square = cs.alloc(|| "x^2", || value(|x| x.square()))?;
        let cube = cs.alloc_input(|| "x^3", || value(|x| x.cube()))?;
        cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, |lc| lc + square);
        cs.enforce(|| "cube", |lc| lc + square, |lc| lc + x, |lc| lc + cube);
        Ok(())
    }
}

fn main() -> std::process::ExitCode {
    let program = JsonProgram {
        id: CircuitId::new("cube", 1).expect("a legal name"),
        statement: "the prover knows x with x^3 = y",
        input_format: "x, a number below 2^64",
        circuit: |x: Option<&u64>| Cube(x.copied().map(Scalar::from)),
        public_inputs: |x| vec![Scalar::from(*x).cube()],
    };
    proofmill_synth_worker::main_with(CircuitRegistry::builtin().with(program))
}
