//! Any bellperson circuit as a program: one partition, its input in JSON.

use bellperson::Circuit;
use proofmill_shared::groth16::Scalar;
use proofmill_shared::protocol::CircuitId;
use serde::de::DeserializeOwned;

use super::program::parse_json;
use super::{CircuitError, CircuitProgram};

/// Wraps a bellperson circuit whose input is a JSON value of type `I`.
#[derive(Debug, Clone)]
pub struct JsonProgram<I, C> {
    /// Name and version; the version changes with the constraints or the meaning of an input.
    pub id: CircuitId,
    /// What a proof says, one sentence.
    pub statement: &'static str,
    /// What an input looks like, one sentence.
    pub input_format: &'static str,
    /// The circuit of an input; without one, a circuit without values, from which the shape is recorded.
    pub circuit: fn(Option<&I>) -> C,
    /// Public inputs without the leading one: what a proof of this input must be about.
    pub public_inputs: fn(&I) -> Vec<Scalar>,
}

impl<I, C> CircuitProgram for JsonProgram<I, C>
where
    I: DeserializeOwned + Send + Sync + 'static,
    C: Circuit<Scalar> + 'static,
{
    type Input = I;
    type Circuit = C;

    fn id(&self) -> CircuitId {
        self.id.clone()
    }

    fn statement(&self) -> String {
        self.statement.to_owned()
    }

    fn input_format(&self) -> String {
        self.input_format.to_owned()
    }

    fn parse(&self, raw: &[u8]) -> Result<I, CircuitError> {
        parse_json(raw, self.input_format)
    }

    fn blank(&self) -> C {
        (self.circuit)(None)
    }

    fn circuit(&self, input: &I, _partition: u32) -> Result<C, CircuitError> {
        Ok((self.circuit)(Some(input)))
    }

    fn public_inputs(&self, input: &I, _partition: u32) -> Result<Vec<Scalar>, CircuitError> {
        Ok((self.public_inputs)(input))
    }
}

#[cfg(test)]
mod tests {
    use bellperson::{ConstraintSystem, SynthesisError};
    use ff::Field;

    use super::*;
    use crate::circuit::RegisteredCircuit;
    use crate::witness;

    struct Square(Option<u64>);

    impl Circuit<Scalar> for Square {
        fn synthesize<CS: ConstraintSystem<Scalar>>(
            self,
            cs: &mut CS,
        ) -> Result<(), SynthesisError> {
            let x = self.0.map(Scalar::from);
            let get = |value: Option<Scalar>| value.ok_or(SynthesisError::AssignmentMissing);
            let root = cs.alloc(|| "x", || get(x))?;
            let square = cs.alloc_input(|| "x^2", || get(x.map(|x| x.square())))?;
            cs.enforce(
                || "square",
                |lc| lc + root,
                |lc| lc + root,
                |lc| lc + square,
            );
            Ok(())
        }
    }

    fn program(public_inputs: fn(&u64) -> Vec<Scalar>) -> RegisteredCircuit {
        RegisteredCircuit::new(JsonProgram {
            id: CircuitId::new("square", 1).unwrap(),
            statement: "the prover knows a square root",
            input_format: "a number",
            circuit: |x: Option<&u64>| Square(x.copied()),
            public_inputs,
        })
    }

    #[test]
    fn an_input_becomes_a_witness_that_satisfies_the_circuit() {
        let circuit = program(|x| vec![Scalar::from(x * x)]);
        let input = circuit.parse(b"7").unwrap();
        let plan = circuit.plan(&input).unwrap();
        assert_eq!(plan.partition_count, 1);
        let assignment = circuit.witness(&input, 0).unwrap();
        assert_eq!(assignment.input, [Scalar::ONE, Scalar::from(49)]);
        let shape = circuit.shape().unwrap();
        assert_eq!(plan.shape, shape.digest);
        witness::check(&shape, &assignment, 0).unwrap();
    }

    #[test]
    fn an_input_of_another_form_is_refused_without_being_shown() {
        let refused = program(|_| vec![]).parse(br#""se-cret""#).unwrap_err();
        let told = refused.to_string();
        assert!(told.contains("expected a number"), "{told}");
        assert!(!told.contains("se-cret"), "{told}");
    }

    #[test]
    fn public_inputs_other_than_the_circuits_are_noticed() {
        let circuit = program(|x| vec![Scalar::from(*x)]);
        let input = circuit.parse(b"7").unwrap();
        assert!(matches!(
            circuit.witness(&input, 0),
            Err(CircuitError::Inconsistent { .. })
        ));
    }
}
