//! Constraint systems made to order: any counts, densities and kinds of witness, always satisfied.

use bellperson::{Circuit, ConstraintSystem, LinearCombination, SynthesisError, Variable};
use ff::Field;
use proofmill_shared::groth16::{Assignment, Scalar};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// Which aux variables occur in A, and which in B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Densities {
    None,
    One,
    Alternating,
    All,
}

impl Densities {
    pub(super) const EVERY: [Self; 4] = [Self::None, Self::One, Self::Alternating, Self::All];

    fn has(self, i: usize) -> bool {
        match self {
            Self::None => false,
            Self::One => i == 0,
            Self::Alternating => i % 2 == 1,
            Self::All => true,
        }
    }
}

/// What the variables hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Witness {
    Zeros,
    Ones,
    Small,
    Dense,
    Mixed,
}

impl Witness {
    pub(super) const EVERY: [Self; 5] = [
        Self::Zeros,
        Self::Ones,
        Self::Small,
        Self::Dense,
        Self::Mixed,
    ];

    fn value(self, rng: &mut ChaCha8Rng) -> Scalar {
        match self {
            Self::Zeros => Scalar::ZERO,
            Self::Ones => Scalar::ONE,
            Self::Small => Scalar::from(u64::from(rng.next_u32() & 0xffff)),
            Self::Dense => Scalar::random(rng),
            Self::Mixed => {
                let kinds = [Self::Zeros, Self::Ones, Self::Small, Self::Dense];
                kinds[rng.next_u32() as usize % kinds.len()].value(rng)
            }
        }
    }
}

/// What a constraint system is to be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    /// With the leading one.
    pub(super) num_inputs: usize,
    pub(super) num_aux: usize,
    /// With the row that every input adds.
    pub(super) num_rows: usize,
    pub(super) densities: Densities,
    pub(super) witness: Witness,
    pub(super) seed: u64,
}

type Row = Vec<(Variable, Scalar)>;

/// A constraint system with a satisfying assignment.
#[derive(Debug, Clone)]
pub(super) struct R1cs {
    pub(super) assignment: Assignment,
    rows: Vec<[Row; 3]>,
}

impl R1cs {
    /// Every aux variable occurs at least in C, so that a key exists; in A and B it occurs as ordered. What a row lacks to
    /// be satisfied is added to its C as a multiple of one.
    pub(super) fn new(order: &Order) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(order.seed);
        let mut input = vec![Scalar::ONE];
        input.extend((1..order.num_inputs).map(|_| order.witness.value(&mut rng)));
        let aux = (0..order.num_aux)
            .map(|_| order.witness.value(&mut rng))
            .collect();
        let assignment = Assignment::new(input, aux);

        let num_constraints = order.num_rows - order.num_inputs;
        let mut rows = vec![[const { Row::new() }; 3]; num_constraints];
        let coefficient = |rng: &mut ChaCha8Rng| match rng.next_u32() % 4 {
            0 | 1 => Scalar::ONE,
            2 => -Scalar::ONE,
            _ => Scalar::random(rng),
        };
        for i in 0..order.num_aux {
            let variable = aux_variable(i);
            let is_dense = order.densities.has(i);
            let matrices: &[usize] = if is_dense { &[0, 1, 2] } else { &[2] };
            for &matrix in matrices {
                // Another place in each matrix; in A and B sometimes a second one, which may cancel the first.
                let num_places = 1 + usize::from(matrix < 2 && rng.next_u32().is_multiple_of(2));
                for place in 0..num_places {
                    let row = (i * (matrix + 1) + place * 7 + matrix) % num_constraints;
                    rows[row][matrix].push((variable, coefficient(&mut rng)));
                }
            }
        }
        for (i, row) in rows.iter_mut().enumerate() {
            let input = input_variable(i % order.num_inputs);
            row[0].push((input, coefficient(&mut rng)));
            if order.densities != Densities::None {
                row[1].push((input, coefficient(&mut rng)));
            }
            let [a, b, c] = row.each_ref().map(|row| value(row, &assignment));
            row[2].push((input_variable(0), a * b - c));
        }
        Self { assignment, rows }
    }
}

/// Both kinds of variables are numbered from 0; input 0 is one.
fn input_variable(i: usize) -> Variable {
    Variable::new_unchecked(bellperson::Index::Input(i))
}

fn aux_variable(i: usize) -> Variable {
    Variable::new_unchecked(bellperson::Index::Aux(i))
}

fn value(row: &Row, assignment: &Assignment) -> Scalar {
    row.iter()
        .map(|(variable, coefficient)| match variable.get_unchecked() {
            bellperson::Index::Input(i) => assignment.input[i] * coefficient,
            bellperson::Index::Aux(i) => assignment.aux[i] * coefficient,
        })
        .sum()
}

impl Circuit<Scalar> for R1cs {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        for (i, value) in self.assignment.input.iter().enumerate().skip(1) {
            cs.alloc_input(|| format!("input {i}"), || Ok(*value))?;
        }
        for (i, value) in self.assignment.aux.iter().enumerate() {
            cs.alloc(|| format!("aux {i}"), || Ok(*value))?;
        }
        let combination = |row: &Row| {
            row.iter()
                .fold(LinearCombination::zero(), |sum, (variable, coefficient)| {
                    sum + (*coefficient, *variable)
                })
        };
        for (i, [a, b, c]) in self.rows.iter().enumerate() {
            cs.enforce(
                || format!("row {i}"),
                |_| combination(a),
                |_| combination(b),
                |_| combination(c),
            );
        }
        Ok(())
    }
}
