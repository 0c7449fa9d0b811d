//! Sparse rows times an assignment, on all cores.

use ff::Field;
use rayon::prelude::*;

use super::Scalar;

/// Non-zeros that one task multiplies: some 100 µs of work, so that rows of any length balance over the cores.
const NON_ZEROS_PER_TASK: usize = 1 << 14;

/// One matrix in compressed sparse rows. No coefficient is zero; columns of a row ascend and are distinct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparseMatrix {
    /// End of each row in `columns`, exclusive; length `num_constraints`. Row i starts where row i − 1 ends.
    pub row_ends: Vec<u32>,
    /// Column of each non-zero.
    pub columns: Vec<u32>,
    /// Dictionary index of each non-zero; as long as `columns`.
    pub coefficients: CoefficientIndices,
}

/// Dictionary indices, two bytes each where the dictionary allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoefficientIndices {
    /// At most 65,536 distinct coefficients: 6 bytes a non-zero with its column.
    Narrow(Vec<u16>),
    /// More.
    Wide(Vec<u32>),
}

impl CoefficientIndices {
    /// Dictionary index of a non-zero.
    #[must_use]
    pub fn get(&self, index: usize) -> usize {
        match self {
            Self::Narrow(indices) => usize::from(indices[index]),
            Self::Wide(indices) => indices[index] as usize,
        }
    }

    /// Number of non-zeros.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(indices) => indices.len(),
            Self::Wide(indices) => indices.len(),
        }
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl SparseMatrix {
    /// Number of rows.
    #[must_use]
    pub fn num_rows(&self) -> usize {
        self.row_ends.len()
    }

    /// Number of non-zeros over all rows.
    #[must_use]
    pub fn num_non_zeros(&self) -> usize {
        self.columns.len()
    }

    /// The non-zeros of a row as (column, dictionary index).
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let start = if row == 0 {
            0
        } else {
            self.row_ends[row - 1] as usize
        };
        let end = self.row_ends[row] as usize;
        (start..end).map(|index| (self.columns[index] as usize, self.coefficients.get(index)))
    }

    /// Multiplies by an assignment, w = input ‖ aux: `out[i]` becomes row i times w.
    ///
    /// Shapes: `out` holds at least `num_rows` elements; those past it stay as they are.
    ///
    /// # Panics
    /// If `out` is shorter than the rows, or a column lies outside the assignment: callers check lengths first.
    pub fn multiply_into(
        &self,
        dictionary: &[Scalar],
        input: &[Scalar],
        aux: &[Scalar],
        out: &mut [Scalar],
    ) {
        let kinds: Vec<Coefficient> = dictionary.iter().map(Coefficient::of).collect();
        let mut tasks = Vec::new();
        let mut rest = &mut out[..self.num_rows()];
        let mut first = 0;
        while !rest.is_empty() {
            let begin = if first == 0 {
                0
            } else {
                self.row_ends[first - 1] as usize
            };
            let limit = begin + NON_ZEROS_PER_TASK;
            let ends = &self.row_ends[first..];
            let count = ends.partition_point(|end| (*end as usize) <= limit).max(1);
            let (rows, tail) = rest.split_at_mut(count);
            tasks.push((first, begin, rows));
            first += count;
            rest = tail;
        }
        tasks.into_par_iter().for_each(|(first, begin, rows)| {
            let mut start = begin;
            for (offset, value) in rows.iter_mut().enumerate() {
                let end = self.row_ends[first + offset] as usize;
                *value = self.product(start..end, &kinds, dictionary, input, aux);
                start = end;
            }
        });
    }

    fn product(
        &self,
        range: std::ops::Range<usize>,
        kinds: &[Coefficient],
        dictionary: &[Scalar],
        input: &[Scalar],
        aux: &[Scalar],
    ) -> Scalar {
        let mut sum = Scalar::ZERO;
        for index in range {
            let column = self.columns[index] as usize;
            let value = if column < input.len() {
                &input[column]
            } else {
                &aux[column - input.len()]
            };
            if bool::from(value.is_zero()) {
                continue;
            }
            let coefficient = self.coefficients.get(index);
            match kinds[coefficient] {
                Coefficient::One => sum += value,
                Coefficient::MinusOne => sum -= value,
                Coefficient::Other if *value == Scalar::ONE => sum += &dictionary[coefficient],
                Coefficient::Other => sum += dictionary[coefficient] * value,
            }
        }
        sum
    }
}

/// Coefficients that need no multiplication, and the others.
#[derive(Clone, Copy)]
enum Coefficient {
    One,
    MinusOne,
    Other,
}

impl Coefficient {
    fn of(value: &Scalar) -> Self {
        if *value == Scalar::ONE {
            Self::One
        } else if *value == -Scalar::ONE {
            Self::MinusOne
        } else {
            Self::Other
        }
    }
}
