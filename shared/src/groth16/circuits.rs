//! Small circuits that the tests of this module record, set up and prove.

use bellperson::groth16::{Parameters, create_random_proof};
use bellperson::util_cs::witness_cs::WitnessCS;
use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::{Bls12, G1Affine};
use ff::Field;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::{Assignment, Proof, ProvingKey, Scalar, Shape, generate_development_key};

/// x ← x³ + x + 5, `links` times, from a private x to a public result.
#[derive(Debug, Clone)]
pub(crate) struct Cubic {
    pub(crate) x: Option<Scalar>,
    pub(crate) links: usize,
}

impl Circuit<Scalar> for Cubic {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let missing = || SynthesisError::AssignmentMissing;
        let mut value = self.x;
        let mut x = cs.alloc(|| "x", || value.ok_or_else(missing))?;
        for i in 0..self.links {
            let square_value = value.map(|x| x.square());
            let square = cs.alloc(|| "x²", || square_value.ok_or_else(missing))?;
            cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, |lc| lc + square);
            let next_value = value.map(|x| x.square() * x + x + Scalar::from(5));
            let of_next = || next_value.ok_or_else(missing);
            let next = if i + 1 == self.links {
                cs.alloc_input(|| "result", of_next)?
            } else {
                cs.alloc(|| "next", of_next)?
            };
            cs.enforce(
                || "cube",
                |lc| lc + square,
                |lc| lc + x,
                |lc| lc + next - x - (Scalar::from(5), CS::one()),
            );
            (x, value) = (next, next_value);
        }
        Ok(())
    }
}

/// One term of a row: variable number (over the inputs, then the aux variables) and coefficient.
pub(crate) type Term = (usize, i64);

/// Any R1CS, given row by row; inputs and aux variables are allocated as they first occur, between the constraints.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    /// Values of the inputs after the leading one.
    pub(crate) inputs: Vec<Scalar>,
    pub(crate) aux: Vec<Scalar>,
    pub(crate) rows: Vec<[Vec<Term>; 3]>,
}

pub(crate) fn scalar(value: i64) -> Scalar {
    let size = Scalar::from(value.unsigned_abs());
    if value < 0 { -size } else { size }
}

impl Rows {
    pub(crate) fn num_variables(&self) -> usize {
        1 + self.inputs.len() + self.aux.len()
    }

    fn combine(&self, terms: &[Term], allocated: &[Option<Variable>]) -> LinearCombination<Scalar> {
        terms.iter().fold(LinearCombination::zero(), |sum, term| {
            let variable = allocated[term.0].expect("allocated before its row");
            sum + (scalar(term.1), variable)
        })
    }
}

impl Circuit<Scalar> for Rows {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let mut allocated = vec![None; self.num_variables()];
        allocated[0] = Some(CS::one());
        let mut next_input = 1;
        let mut next_aux = 1 + self.inputs.len();
        let allocate = |cs: &mut CS, allocated: &mut Vec<Option<Variable>>, number: usize| {
            let is_input = number <= self.inputs.len();
            let variable = if is_input {
                cs.alloc_input(|| "input", || Ok(self.inputs[number - 1]))?
            } else {
                cs.alloc(|| "aux", || Ok(self.aux[number - 1 - self.inputs.len()]))?
            };
            allocated[number] = Some(variable);
            Ok::<(), SynthesisError>(())
        };
        let num_variables = self.num_variables();
        for row in &self.rows {
            let wanted = row.iter().flatten().map(|term| term.0);
            for number in wanted {
                while number <= self.inputs.len() && next_input <= number {
                    allocate(cs, &mut allocated, next_input)?;
                    next_input += 1;
                }
                while number > self.inputs.len() && next_aux <= number {
                    allocate(cs, &mut allocated, next_aux)?;
                    next_aux += 1;
                }
            }
            let [a, b, c] = row.each_ref().map(|terms| self.combine(terms, &allocated));
            cs.enforce(|| "row", |_| a, |_| b, |_| c);
        }
        for number in (next_input..=self.inputs.len()).chain(next_aux..num_variables) {
            allocate(cs, &mut allocated, number)?;
        }
        Ok(())
    }
}

/// A variable that no constraint system has allocated.
pub(crate) struct Dangling;

impl Circuit<Scalar> for Dangling {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let variable = Variable::new_unchecked(Index::Aux(7));
        cs.enforce(|| "dangling", |lc| lc + variable, |lc| lc, |lc| lc);
        Ok(())
    }
}

/// The assignment that bellperson's witness generation gives.
pub(crate) fn assignment_of<C: Circuit<Scalar>>(circuit: C) -> Assignment {
    let mut witness = WitnessCS::<Scalar>::new();
    circuit.synthesize(&mut witness).unwrap();
    Assignment::new(witness.scalar_inputs(), witness.scalar_aux())
}

/// The shape of a circuit.
pub(crate) fn shape_of<C: Circuit<Scalar>>(circuit: C) -> Shape {
    Shape::record(circuit).unwrap()
}

/// A key of our own for a circuit, from a fixed seed.
pub(crate) fn key_of(shape: &Shape, seed: u64) -> ProvingKey {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    generate_development_key(shape, &mut rng, &|_| {}).unwrap()
}

/// The bytes of a key's params file.
pub(crate) fn params_of(key: &ProvingKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.write(&mut bytes).unwrap();
    bytes
}

/// A proof by bellperson's prover with our key, in our type.
pub(crate) fn prove<C: Circuit<Scalar> + Send>(circuit: C, key: &ProvingKey) -> Proof {
    let params = Parameters::<Bls12>::read(&params_of(key)[..], false).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let proof = create_random_proof(circuit, &params, &mut rng).unwrap();
    Proof {
        a: proof.a,
        b: proof.b,
        c: proof.c,
    }
}

/// A point of the curve in G1 that lies outside the subgroup.
pub(crate) fn outside_subgroup() -> G1Affine {
    let candidates = (1..).filter_map(|x: u8| {
        let mut compressed = [0; G1Affine::compressed_size()];
        compressed[0] = 0x80;
        compressed[47] = x;
        Option::<G1Affine>::from(G1Affine::from_compressed_unchecked(&compressed))
    });
    candidates
        .into_iter()
        .find(|point| !bool::from(point.is_torsion_free()))
        .unwrap()
}
