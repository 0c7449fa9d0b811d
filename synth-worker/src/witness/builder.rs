//! The constraint system that keeps values only: synthesis without matrices.

use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use ff::Field;
use proofmill_shared::groth16::{Assignment, Scalar, Shape};

use crate::circuit::CircuitError;

/// Runs a circuit for its values. The assignment has the shape's lengths; constraints are not looked at.
///
/// # Errors
/// [`CircuitError::Unsatisfiable`] or [`CircuitError::Synthesis`] if the circuit fails, [`CircuitError::Inconsistent`] if
/// it has other lengths than the shape. A circuit that allocates more than the shape has is stopped there, however much
/// more it would have allocated.
pub fn build<C: Circuit<Scalar>>(circuit: C, shape: &Shape) -> Result<Assignment, CircuitError> {
    let mut builder = WitnessBuilder::for_shape(shape);
    let outcome = circuit.synthesize(&mut builder);
    let assignment = Assignment::new(builder.input, builder.aux);
    if builder.is_overrun {
        let reason = "it allocates more variables with values than without".to_owned();
        return Err(CircuitError::Inconsistent { reason });
    }
    outcome?;
    shape.check_assignment(&assignment)?;
    Ok(assignment)
}

/// Keeps values, as bellperson's `WitnessCS`: the leading input is the constant one, and a part that was synthesized
/// apart is appended without its own.
struct WitnessBuilder {
    /// The constant one comes first.
    input: Vec<Scalar>,
    aux: Vec<Scalar>,
    /// Most inputs and aux variables.
    limits: [usize; 2],
    /// True once the circuit asked for more.
    is_overrun: bool,
}

impl WitnessBuilder {
    fn for_shape(shape: &Shape) -> Self {
        let mut input = Vec::with_capacity(shape.num_inputs);
        input.push(Scalar::ONE);
        Self {
            input,
            aux: Vec::with_capacity(shape.num_aux),
            limits: [shape.num_inputs, shape.num_aux],
            is_overrun: false,
        }
    }

    /// Refuses what goes beyond the limits.
    fn check_room(&mut self, inputs: usize, aux: usize) -> Result<(), SynthesisError> {
        let [input_limit, aux_limit] = self.limits;
        let fits = self.input.len().saturating_add(inputs) <= input_limit
            && self.aux.len().saturating_add(aux) <= aux_limit;
        if fits {
            return Ok(());
        }
        self.is_overrun = true;
        Err(SynthesisError::IncompatibleLengthVector(
            "more variables than the shape has".to_owned(),
        ))
    }
}

impl ConstraintSystem<Scalar> for WitnessBuilder {
    type Root = Self;

    fn new() -> Self {
        // A part that is synthesized apart: whoever appends it checks it against the shape.
        Self {
            input: vec![Scalar::ONE],
            aux: Vec::new(),
            limits: [usize::MAX; 2],
            is_overrun: false,
        }
    }

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.check_room(0, 1)?;
        self.aux.push(value()?);
        Ok(Variable::new_unchecked(Index::Aux(self.aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.check_room(1, 0)?;
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
        self.extend_inputs(&other.input[1..]);
        self.extend_aux(&other.aux);
    }

    fn is_witness_generator(&self) -> bool {
        true
    }

    fn extend_inputs(&mut self, new_inputs: &[Scalar]) {
        if self.check_room(new_inputs.len(), 0).is_ok() {
            self.input.extend_from_slice(new_inputs);
        }
    }

    fn extend_aux(&mut self, new_aux: &[Scalar]) {
        if self.check_room(0, new_aux.len()).is_ok() {
            self.aux.extend_from_slice(new_aux);
        }
    }

    fn allocate_empty(&mut self, aux: usize, inputs: usize) -> (&mut [Scalar], &mut [Scalar]) {
        // The caller takes slices of these lengths for granted: they are given, and the witness refused at the end.
        self.is_overrun |= self.check_room(inputs, aux).is_err();
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

#[cfg(test)]
mod tests;
