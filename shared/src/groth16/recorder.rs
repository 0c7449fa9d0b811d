//! Records the shape of a circuit by running it once.

use std::collections::HashMap;

use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use ff::{Field, PrimeField};

use super::Scalar;
use super::matrix::{CoefficientIndices, SparseMatrix};
use super::shape::{Shape, ShapeError};

/// Bit that tags an aux column while the number of inputs is not final: circuits interleave both.
const AUX_TAG: u32 = 1 << 31;

/// Most variables of either kind: columns are 32 bits with one bit of tag.
const VARIABLES_MAX: usize = (AUX_TAG - 1) as usize;

/// Most non-zeros of one matrix: row ends are 32 bits.
const NON_ZEROS_MAX: usize = u32::MAX as usize;

/// Largest dictionary whose indices take two bytes.
const NARROW_MAX: usize = 1 << 16;

/// Runs a circuit, with or without values, and records its constraint matrices.
///
/// # Errors
/// [`ShapeError::Synthesis`] if the circuit fails (a circuit must not need values in `enforce`),
/// [`ShapeError::TooLarge`] if it has more variables or non-zeros than 32 bits hold.
pub(super) fn record<C: Circuit<Scalar>>(circuit: C) -> Result<Shape, ShapeError> {
    let mut recorder = ShapeRecorder::new();
    circuit
        .synthesize(&mut recorder)
        .map_err(|error| ShapeError::Synthesis {
            reason: error.to_string(),
        })?;
    recorder.finish()
}

#[derive(Default)]
struct Rows {
    row_ends: Vec<u32>,
    columns: Vec<u32>,
    coefficients: Vec<u32>,
}

struct ShapeRecorder {
    num_inputs: usize,
    num_aux: usize,
    dictionary: Vec<Scalar>,
    indices: HashMap<[u8; 32], u32>,
    matrices: [Rows; 3],
    is_too_large: bool,
}

impl ShapeRecorder {
    fn term(&mut self, matrix: usize, column: u32, coefficient: &Scalar) {
        if bool::from(coefficient.is_zero()) {
            return;
        }
        let next = u32::try_from(self.dictionary.len()).unwrap_or(u32::MAX);
        let index = *self.indices.entry(coefficient.to_repr()).or_insert(next);
        if index == next {
            self.dictionary.push(*coefficient);
        }
        let rows = &mut self.matrices[matrix];
        rows.columns.push(column);
        rows.coefficients.push(index);
        self.is_too_large |= rows.columns.len() > NON_ZEROS_MAX;
    }

    fn row(&mut self, matrix: usize, combination: &LinearCombination<Scalar>) {
        // bellperson combines the terms of one variable and keeps both kinds sorted by index; a sum of zero stays in
        // the combination, and is dropped here as key generation drops it.
        let mut inputs: Vec<(u32, &Scalar)> = combination
            .iter_inputs()
            .map(|(i, c)| (tag(*i, 0), c))
            .collect();
        let mut aux: Vec<(u32, &Scalar)> = combination
            .iter_aux()
            .map(|(i, c)| (tag(*i, AUX_TAG), c))
            .collect();
        inputs.sort_unstable_by_key(|(column, _)| *column);
        aux.sort_unstable_by_key(|(column, _)| *column);
        for (column, coefficient) in inputs.into_iter().chain(aux) {
            self.term(matrix, column, coefficient);
        }
        let rows = &mut self.matrices[matrix];
        rows.row_ends
            .push(u32::try_from(rows.columns.len()).unwrap_or(u32::MAX));
    }

    fn finish(self) -> Result<Shape, ShapeError> {
        let Self {
            num_inputs,
            num_aux,
            dictionary,
            matrices,
            is_too_large,
            ..
        } = self;
        if is_too_large
            || num_inputs.max(num_aux) > VARIABLES_MAX
            || num_inputs + num_aux > u32::MAX as usize
        {
            return Err(ShapeError::TooLarge {
                num_inputs,
                num_aux,
            });
        }
        let offset = u32::try_from(num_inputs).unwrap_or(u32::MAX);
        let is_narrow = dictionary.len() <= NARROW_MAX;
        let [a, b, c] = matrices.map(|rows| {
            let untag = |column: u32| {
                if column & AUX_TAG == 0 {
                    column
                } else {
                    (column & !AUX_TAG) + offset
                }
            };
            let columns = rows.columns.into_iter().map(untag).collect();
            let coefficients = if is_narrow {
                CoefficientIndices::Narrow(
                    rows.coefficients
                        .iter()
                        .map(|i| (*i & 0xffff) as u16)
                        .collect(),
                )
            } else {
                CoefficientIndices::Wide(rows.coefficients)
            };
            SparseMatrix {
                row_ends: rows.row_ends,
                columns,
                coefficients,
            }
        });
        Shape::new(num_inputs, num_aux, dictionary, a, b, c)
    }
}

fn tag(index: usize, tag: u32) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX) | tag
}

impl ConstraintSystem<Scalar> for ShapeRecorder {
    type Root = Self;

    fn new() -> Self {
        let mut recorder = Self {
            num_inputs: 1,
            num_aux: 0,
            dictionary: vec![Scalar::ONE],
            indices: HashMap::new(),
            matrices: Default::default(),
            is_too_large: false,
        };
        recorder.indices.insert(Scalar::ONE.to_repr(), 0);
        recorder
    }

    fn alloc<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.num_aux += 1;
        Ok(Variable::new_unchecked(Index::Aux(self.num_aux - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.num_inputs += 1;
        Ok(Variable::new_unchecked(Index::Input(self.num_inputs - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        self.row(0, &a(LinearCombination::zero()));
        self.row(1, &b(LinearCombination::zero()));
        self.row(2, &c(LinearCombination::zero()));
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
}
