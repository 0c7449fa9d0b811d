//! The constraint system that keeps values only: synthesis without matrices.

use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use ff::Field;
use proofmill_shared::groth16::{Assignment, Scalar, Shape};

use crate::circuit::CircuitError;

/// Runs a circuit for its values. The assignment has the shape's lengths.
///
/// # Errors
/// [`CircuitError::Synthesis`] if the circuit fails, [`CircuitError::Inconsistent`] if it has other lengths.
pub fn build<C: Circuit<Scalar>>(circuit: C, shape: &Shape) -> Result<Assignment, CircuitError> {
    let mut input = Vec::with_capacity(shape.num_inputs);
    input.push(Scalar::ONE);
    let mut builder = WitnessBuilder {
        input,
        aux: Vec::with_capacity(shape.num_aux),
    };
    circuit
        .synthesize(&mut builder)
        .map_err(|error| CircuitError::Synthesis {
            reason: error.to_string(),
        })?;
    let assignment = Assignment {
        input: builder.input,
        aux: builder.aux,
    };
    shape.check_assignment(&assignment)?;
    Ok(assignment)
}

struct WitnessBuilder {
    /// The constant one comes first.
    input: Vec<Scalar>,
    aux: Vec<Scalar>,
}

impl ConstraintSystem<Scalar> for WitnessBuilder {
    type Root = Self;

    fn new() -> Self {
        Self {
            input: vec![Scalar::ONE],
            aux: Vec::new(),
        }
    }

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.aux.push(value()?);
        Ok(Variable::new_unchecked(Index::Aux(self.aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.input.push(value()?);
        Ok(Variable::new_unchecked(Index::Input(self.input.len() - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, _: LA, _: LB, _: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
    }

    fn push_namespace<NR, N>(&mut self, _: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
    }

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self::Root {
        self
    }

    fn is_extensible() -> bool {
        true
    }

    fn extend(&mut self, other: &Self) {
        // The other system's first input is its own constant one.
        self.input.extend_from_slice(&other.input[1..]);
        self.aux.extend_from_slice(&other.aux);
    }

    fn is_witness_generator(&self) -> bool {
        true
    }

    fn extend_inputs(&mut self, new_inputs: &[Scalar]) {
        self.input.extend_from_slice(new_inputs);
    }

    fn extend_aux(&mut self, new_aux: &[Scalar]) {
        self.aux.extend_from_slice(new_aux);
    }

    fn allocate_empty(&mut self, aux: usize, inputs: usize) -> (&mut [Scalar], &mut [Scalar]) {
        let (first_aux, first_input) = (self.aux.len(), self.input.len());
        self.aux.resize(first_aux + aux, Scalar::ZERO);
        self.input.resize(first_input + inputs, Scalar::ZERO);
        (&mut self.aux[first_aux..], &mut self.input[first_input..])
    }

    fn inputs_slice(&self) -> &[Scalar] {
        &self.input
    }

    fn aux_slice(&self) -> &[Scalar] {
        &self.aux
    }
}
