//! The proof that a device must make before it gets work: a small circuit with scalars of every weight, a key from a fixed
//! seed, fixed blinding factors, and verification on the host.

use std::sync::Arc;

use ff::Field;
use proofmill_shared::groth16::{
    Assignment, CoefficientIndices, Density, Scalar, Shape, SparseMatrix, generate_development_key,
};
use proofmill_shared::protocol::Digest;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::backend::Backend;
use crate::prover::{BlindingFactors, ProveError, prove_and_verify};

/// Squarings x ← x² + 1: dense scalars, enough to fill buckets, transforms of 512 values, a key within 0.1 s.
const NUM_SQUARINGS: usize = 200;
/// Variables held to 0 or 1.
const NUM_BITS: usize = 100;
/// Seed of the key. Nobody relies on proofs with this key.
const SEED: u64 = 0x70726f6f_666d696c;

/// Makes the proof.
///
/// # Errors
/// Whatever proving or verification answers.
pub(super) fn check<B: Backend>(backend: &B) -> Result<(), ProveError> {
    let (shape, assignment) = circuit();
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let key = generate_development_key(&shape, &mut rng, &|_| ())
        .expect("every variable of the built-in circuit is constrained");
    let verifying_key = key.vk.prepare();
    let circuit = backend.load(Arc::new(shape), Arc::new(key))?;
    let blinding = BlindingFactors {
        r: Scalar::random(&mut rng),
        s: Scalar::random(&mut rng),
    };
    prove_and_verify(
        backend,
        &circuit,
        &verifying_key,
        &assignment,
        &blinding,
        &(),
    )?;
    Ok(())
}

/// Columns: one, the last x; then x₀ … (all but the last), then the bits.
fn circuit() -> (Shape, Assignment) {
    let (one, minus_one) = (0, 1);
    let x = |i: usize| if i == NUM_SQUARINGS { 1 } else { 2 + i };
    let bit = |i: usize| 2 + NUM_SQUARINGS + i;
    let [mut a, mut b, mut c] = [const { Rows::new() }; 3];
    for i in 0..NUM_SQUARINGS {
        a.push(&[(x(i), one)]);
        b.push(&[(x(i), one)]);
        // The columns of a row ascend.
        c.push(&[(0, minus_one), (x(i + 1), one)]);
    }
    for i in 0..NUM_BITS {
        a.push(&[(bit(i), one)]);
        b.push(&[(0, minus_one), (bit(i), one)]);
        c.push(&[]);
    }
    let mut values = vec![Scalar::from(3u64)];
    for i in 0..NUM_SQUARINGS {
        values.push(values[i].square() + Scalar::ONE);
    }
    let last = values.remove(NUM_SQUARINGS);
    values.extend((0..NUM_BITS).map(|i| Scalar::from((i % 3 == 0) as u64)));
    let num_aux = NUM_SQUARINGS + NUM_BITS;
    let shape = Shape {
        num_inputs: 2,
        num_aux,
        num_constraints: NUM_SQUARINGS + NUM_BITS,
        dictionary: vec![Scalar::ONE, -Scalar::ONE],
        a: a.into_matrix(),
        b: b.into_matrix(),
        c: c.into_matrix(),
        density: Density {
            a_aux: vec![true; num_aux],
            b_input: vec![true, false],
            b_aux: vec![true; num_aux],
        },
        digest: Digest::of(b"known answer"),
    };
    (shape, Assignment::new(vec![Scalar::ONE, last], values))
}

/// The rows of a matrix as they are written down.
struct Rows {
    ends: Vec<u32>,
    columns: Vec<u32>,
    coefficients: Vec<u16>,
}

impl Rows {
    const fn new() -> Self {
        Self {
            ends: Vec::new(),
            columns: Vec::new(),
            coefficients: Vec::new(),
        }
    }

    fn push(&mut self, row: &[(usize, u16)]) {
        for (column, coefficient) in row {
            let column = u32::try_from(*column).expect("the circuit is small");
            self.columns.push(column);
            self.coefficients.push(*coefficient);
        }
        let end = u32::try_from(self.columns.len()).expect("the circuit is small");
        self.ends.push(end);
    }

    fn into_matrix(self) -> SparseMatrix {
        SparseMatrix {
            row_ends: self.ends,
            columns: self.columns,
            coefficients: CoefficientIndices::Narrow(self.coefficients),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_circuit_is_satisfied() {
        let (shape, assignment) = circuit();
        assert_eq!(shape.first_unsatisfied(&assignment).unwrap(), None);
    }
}
