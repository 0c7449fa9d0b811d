//! One constraint matrix in compressed sparse rows, and its product with an assignment.

use std::ops::Range;

use ff::Field;
use rayon::prelude::*;

use super::Scalar;
use super::scalar::is_zero;

/// Pieces of work per thread that rows are cut into, so that a slow core does not hold up the rest.
const PIECES_PER_THREAD: usize = 8;

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
    /// At most [`CoefficientIndices::NARROW_LIMIT`] distinct coefficients: 6 bytes a non-zero with its column.
    Narrow(Vec<u16>),
    /// More.
    Wide(Vec<u32>),
}

impl CoefficientIndices {
    /// Largest dictionary whose indices take two bytes.
    pub const NARROW_LIMIT: usize = 1 << 16;

    /// The dictionary index of one non-zero.
    #[must_use]
    pub fn get(&self, non_zero: usize) -> usize {
        match self {
            Self::Narrow(indices) => usize::from(indices[non_zero]),
            Self::Wide(indices) => indices[non_zero] as usize,
        }
    }

    /// How many non-zeros there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(indices) => indices.len(),
            Self::Wide(indices) => indices.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl SparseMatrix {
    /// Rows of the matrix.
    #[must_use]
    pub fn num_rows(&self) -> usize {
        self.row_ends.len()
    }

    /// Stored coefficients of all rows.
    #[must_use]
    pub fn num_non_zeros(&self) -> usize {
        self.columns.len()
    }

    /// Where row i lies in `columns` and `coefficients`.
    #[must_use]
    pub fn row_range(&self, i: usize) -> Range<usize> {
        let start = if i == 0 { 0 } else { self.row_ends[i - 1] };
        start as usize..self.row_ends[i] as usize
    }

    /// The non-zeros of row i: (column, dictionary index), columns ascending.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.row_range(i)
            .map(|k| (self.columns[k] as usize, self.coefficients.get(k)))
    }

    /// Multiplies the matrix with w = input ‖ aux on all cores.
    ///
    /// Shapes: `out` holds one element a row. Coefficients of ±1 and values of 0 and 1 cost no multiplication.
    ///
    /// # Panics
    /// If `out` has another length than the matrix has rows, or the matrix has a column or a coefficient that the
    /// arguments lack: check first with [`Shape::check_assignment`](super::Shape::check_assignment).
    pub fn multiply_into(
        &self,
        dictionary: &[Scalar],
        input: &[Scalar],
        aux: &[Scalar],
        out: &mut [Scalar],
    ) {
        assert_eq!(out.len(), self.num_rows(), "one element a row");
        let product = RowProduct::new(dictionary, input, aux);
        let mut rest = out;
        let mut pieces = Vec::new();
        for rows in balanced_rows(&[self]) {
            let (piece, tail) = rest.split_at_mut(rows.len());
            pieces.push((rows, piece));
            rest = tail;
        }
        pieces.into_par_iter().for_each(|(rows, piece)| {
            for (row, out) in rows.zip(piece) {
                *out = product.row(self, row);
            }
        });
    }
}

/// Cuts the rows of matrices of one shape into ranges of about equal work, in order and without gaps.
pub(crate) fn balanced_rows(matrices: &[&SparseMatrix]) -> Vec<Range<usize>> {
    let num_rows = matrices.first().map_or(0, |matrix| matrix.num_rows());
    // Work up to the end of a row: its non-zeros, and one for the row itself.
    let work_through = |row: usize| {
        let ends = matrices.iter().map(|matrix| matrix.row_ends[row] as usize);
        ends.sum::<usize>() + row + 1
    };
    let pieces = rayon::current_num_threads() * PIECES_PER_THREAD;
    let total = if num_rows == 0 {
        0
    } else {
        work_through(num_rows - 1)
    };
    let mut ranges = Vec::with_capacity(pieces);
    let mut start = 0;
    for piece in 1..=pieces {
        let target = total.div_ceil(pieces) * piece;
        let (mut low, mut high) = (start, num_rows);
        while low < high {
            let middle = low + (high - low) / 2;
            if work_through(middle) <= target {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low > start {
            ranges.push(start..low);
            start = low;
        }
    }
    if start < num_rows {
        ranges.push(start..num_rows);
    }
    ranges
}

/// Multiplies single rows with one assignment.
pub(crate) struct RowProduct<'a> {
    dictionary: &'a [Scalar],
    /// Where the dictionary holds −1, if it does.
    minus_one: Option<usize>,
    input: &'a [Scalar],
    aux: &'a [Scalar],
}

impl<'a> RowProduct<'a> {
    pub(crate) fn new(dictionary: &'a [Scalar], input: &'a [Scalar], aux: &'a [Scalar]) -> Self {
        let minus_one = -Scalar::ONE;
        Self {
            dictionary,
            minus_one: dictionary.iter().position(|value| value == &minus_one),
            input,
            aux,
        }
    }

    /// The product of one row with the assignment.
    pub(crate) fn row(&self, matrix: &SparseMatrix, row: usize) -> Scalar {
        let range = matrix.row_range(row);
        let columns = &matrix.columns[range.clone()];
        match &matrix.coefficients {
            CoefficientIndices::Narrow(indices) => self.sum(columns, &indices[range]),
            CoefficientIndices::Wide(indices) => self.sum(columns, &indices[range]),
        }
    }

    fn sum<I>(&self, columns: &[u32], coefficients: &[I]) -> Scalar
    where
        I: Copy + TryInto<usize>,
    {
        let mut sum = Scalar::ZERO;
        for (column, coefficient) in columns.iter().zip(coefficients) {
            let column = *column as usize;
            let value = match self.input.get(column) {
                Some(value) => value,
                None => &self.aux[column - self.input.len()],
            };
            if is_zero(value) {
                continue;
            }
            let coefficient = (*coefficient).try_into().unwrap_or(usize::MAX);
            if coefficient == 0 {
                sum += value;
            } else if Some(coefficient) == self.minus_one {
                sum -= value;
            } else if value == &Scalar::ONE {
                sum += &self.dictionary[coefficient];
            } else {
                sum += self.dictionary[coefficient] * value;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense_rows(rows: &[&[(u32, u16)]]) -> SparseMatrix {
        let mut matrix = SparseMatrix {
            row_ends: Vec::new(),
            columns: Vec::new(),
            coefficients: CoefficientIndices::Narrow(Vec::new()),
        };
        let mut indices = Vec::new();
        for row in rows {
            for (column, index) in *row {
                matrix.columns.push(*column);
                indices.push(*index);
            }
            matrix
                .row_ends
                .push(u32::try_from(matrix.columns.len()).unwrap());
        }
        matrix.coefficients = CoefficientIndices::Narrow(indices);
        matrix
    }

    #[test]
    fn every_kind_of_term_adds_up() {
        let dictionary = [Scalar::ONE, -Scalar::ONE, Scalar::from(5)];
        let matrix = dense_rows(&[
            &[(0, 0), (1, 2), (2, 1)],
            &[],
            &[(0, 2), (3, 2)],
            &[(1, 1), (3, 0)],
        ]);
        let input = [Scalar::ONE, Scalar::from(10)];
        let aux = [Scalar::from(3), Scalar::ZERO];
        let mut out = [Scalar::from(99); 4];
        matrix.multiply_into(&dictionary, &input, &aux, &mut out);
        let expected = [
            Scalar::from(1 + 50 - 3),
            Scalar::ZERO,
            Scalar::from(5),
            -Scalar::from(10),
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn wide_indices_give_the_same_product() {
        let dictionary = [Scalar::ONE, Scalar::from(5)];
        let narrow = dense_rows(&[&[(0, 1), (1, 0)], &[(1, 1)]]);
        let wide = SparseMatrix {
            coefficients: CoefficientIndices::Wide(vec![1, 0, 1]),
            ..narrow.clone()
        };
        let (input, aux) = ([Scalar::ONE], [Scalar::from(7)]);
        let mut left = [Scalar::ZERO; 2];
        let mut right = [Scalar::ONE; 2];
        narrow.multiply_into(&dictionary, &input, &aux, &mut left);
        wide.multiply_into(&dictionary, &input, &aux, &mut right);
        assert_eq!(left, right);
        assert_eq!(
            narrow.row(0).collect::<Vec<_>>(),
            wide.row(0).collect::<Vec<_>>()
        );
    }

    #[test]
    fn balanced_ranges_cover_every_row_once() {
        let heavy: Vec<(u32, u16)> = (0..1000).map(|column| (column, 0)).collect();
        let light: Vec<(u32, u16)> = vec![(0, 0)];
        let mut rows: Vec<&[(u32, u16)]> = vec![&[]; 50];
        rows.extend(std::iter::repeat_n(heavy.as_slice(), 3));
        rows.extend(std::iter::repeat_n(light.as_slice(), 300));
        let matrix = dense_rows(&rows);
        let ranges = balanced_rows(&[&matrix, &matrix]);
        let covered: Vec<usize> = ranges.into_iter().flatten().collect();
        assert_eq!(covered, (0..353).collect::<Vec<_>>());
        assert!(balanced_rows(&[&dense_rows(&[])]).is_empty());
    }
}
