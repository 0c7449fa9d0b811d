//! Records the shape of a circuit from one synthesis of it.

use std::collections::HashMap;

use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use ff::Field;

use super::scalar::is_zero;
use super::shape::MAX_LOG_DOMAIN_SIZE;
use super::{CoefficientIndices, Scalar, Shape, ShapeError, SparseMatrix};

/// Marks an aux variable in a column whose final number is not known yet: circuits allocate inputs between constraints.
/// The mark is the top bit, so that inputs sort before aux variables.
const AUX_MARK: u32 = 1 << 31;

impl Shape {
    /// Records the shape of a circuit. Values are never asked for, so a circuit without a witness will do.
    ///
    /// Terms of a row are combined by variable and zero coefficients dropped, as bellperson's prover and key generation
    /// do in effect.
    ///
    /// # Errors
    /// [`ShapeError::Synthesis`], [`ShapeError::UnknownVariable`] or [`ShapeError::TooLarge`].
    pub fn record<C: Circuit<Scalar>>(circuit: C) -> Result<Self, ShapeError> {
        let mut recorder = Recorder::new();
        circuit.synthesize(&mut recorder)?;
        recorder.finish()
    }
}

/// A constraint system that keeps the constraints and no values.
struct Recorder {
    num_inputs: usize,
    num_aux: usize,
    num_constraints: usize,
    rows: [RecordedRows; 3],
    dictionary: Dictionary,
    /// Terms of the row at hand.
    terms: Vec<(u32, Scalar)>,
    /// The first fault: `enforce` cannot answer with an error.
    fault: Option<ShapeError>,
}

/// Rows of one matrix: marked columns, indices into the unsorted dictionary.
#[derive(Default)]
struct RecordedRows {
    row_ends: Vec<u32>,
    columns: Vec<u32>,
    coefficients: Vec<u32>,
}

impl Recorder {
    /// Appends one row to one matrix.
    fn push_row(
        &mut self,
        matrix: usize,
        row: &LinearCombination<Scalar>,
    ) -> Result<(), ShapeError> {
        self.collect_terms(row)?;
        let rows = &mut self.rows[matrix];
        for (column, coefficient) in &self.terms {
            if !is_zero(coefficient) {
                rows.columns.push(*column);
                rows.coefficients
                    .push(self.dictionary.index_of(coefficient)?);
            }
        }
        let end = u32::try_from(rows.columns.len()).map_err(|_| ShapeError::TooLarge {
            what: "non-zero coefficients in a matrix",
            limit: u64::from(u32::MAX),
        })?;
        rows.row_ends.push(end);
        Ok(())
    }

    /// Fills `terms` with the row's terms, one a variable, ascending.
    fn collect_terms(&mut self, row: &LinearCombination<Scalar>) -> Result<(), ShapeError> {
        self.terms.clear();
        for (variable, coefficient) in row.iter() {
            let column = match variable.0 {
                Index::Input(i) if i < self.num_inputs => marked(i, 0),
                Index::Aux(i) if i < self.num_aux => marked(i, AUX_MARK),
                Index::Input(_) | Index::Aux(_) => None,
            };
            let column = column.ok_or(ShapeError::UnknownVariable {
                constraint: self.num_constraints,
            })?;
            self.terms.push((column, *coefficient));
        }
        if !self.terms.is_sorted_by(|left, right| left.0 < right.0) {
            self.terms.sort_by_key(|term| term.0);
            self.terms.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                if same {
                    kept.1 += later.1;
                }
                same
            });
        }
        Ok(())
    }

    fn count_within(count: usize, what: &'static str, limit: usize) -> Result<(), ShapeError> {
        if count < limit {
            return Ok(());
        }
        Err(ShapeError::TooLarge {
            what,
            limit: limit as u64,
        })
    }

    fn finish(self) -> Result<Shape, ShapeError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let limit = 1 << MAX_LOG_DOMAIN_SIZE;
        Self::count_within(
            self.num_constraints + self.num_inputs - 1,
            "constraints and inputs",
            limit,
        )?;
        let num_inputs = self.num_inputs;
        let (dictionary, new_index) = self.dictionary.into_sorted();
        let matrices = self
            .rows
            .map(|rows| rows.into_matrix(num_inputs, &new_index, dictionary.len()));
        Ok(Shape::from_parts(
            num_inputs,
            self.num_aux,
            dictionary,
            matrices,
        ))
    }
}

fn marked(index: usize, mark: u32) -> Option<u32> {
    u32::try_from(index).ok().map(|index| index | mark)
}

impl RecordedRows {
    fn into_matrix(
        self,
        num_inputs: usize,
        new_index: &[u32],
        dictionary_len: usize,
    ) -> SparseMatrix {
        let mut columns = self.columns;
        for column in &mut columns {
            if *column & AUX_MARK != 0 {
                // Both counts are below 2³¹, so that their sum fits.
                *column = (*column & !AUX_MARK) + u32::try_from(num_inputs).unwrap_or(u32::MAX);
            }
        }
        let indices = self.coefficients.iter().map(|old| new_index[*old as usize]);
        let coefficients = if dictionary_len <= CoefficientIndices::NARROW_LIMIT {
            let narrow = |index| u16::try_from(index).unwrap_or(u16::MAX);
            CoefficientIndices::Narrow(indices.map(narrow).collect())
        } else {
            CoefficientIndices::Wide(indices.collect())
        };
        SparseMatrix {
            row_ends: self.row_ends,
            columns,
            coefficients,
        }
    }
}

/// Distinct coefficients in order of first use; index 0 is one.
struct Dictionary {
    values: Vec<Scalar>,
    indices: HashMap<[u8; 32], u32>,
}

impl Dictionary {
    fn new() -> Self {
        Self {
            values: vec![Scalar::ONE],
            indices: HashMap::from([(Scalar::ONE.to_bytes_le(), 0)]),
        }
    }

    fn index_of(&mut self, coefficient: &Scalar) -> Result<u32, ShapeError> {
        if coefficient == &Scalar::ONE {
            return Ok(0);
        }
        let next = u32::try_from(self.values.len()).map_err(|_| ShapeError::TooLarge {
            what: "distinct coefficients",
            limit: u64::from(u32::MAX),
        })?;
        let index = *self
            .indices
            .entry(coefficient.to_bytes_le())
            .or_insert(next);
        if index == next {
            self.values.push(*coefficient);
        }
        Ok(index)
    }

    /// The values with one first and the others ascending, and the new index of each old one.
    fn into_sorted(self) -> (Vec<Scalar>, Vec<u32>) {
        let mut order: Vec<usize> = (1..self.values.len()).collect();
        order.sort_by_cached_key(|old| self.values[*old].to_bytes_be());
        let mut new_index = vec![0; self.values.len()];
        let mut sorted = vec![Scalar::ONE];
        for (new, old) in (1..).zip(order) {
            new_index[old] = new;
            sorted.push(self.values[old]);
        }
        (sorted, new_index)
    }
}

impl ConstraintSystem<Scalar> for Recorder {
    type Root = Self;

    fn new() -> Self {
        Self {
            num_inputs: 1,
            num_aux: 0,
            num_constraints: 0,
            rows: Default::default(),
            dictionary: Dictionary::new(),
            terms: Vec::new(),
            fault: None,
        }
    }

    fn alloc<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let fit = Self::count_within(self.num_aux, "aux variables", AUX_MARK as usize);
        self.fault = self.fault.take().or(fit.err());
        self.num_aux += 1;
        Ok(Variable(Index::Aux(self.num_aux - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let fit = Self::count_within(self.num_inputs, "inputs", AUX_MARK as usize);
        self.fault = self.fault.take().or(fit.err());
        self.num_inputs += 1;
        Ok(Variable(Index::Input(self.num_inputs - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        if self.fault.is_some() {
            return;
        }
        let rows = [
            a(LinearCombination::zero()),
            b(LinearCombination::zero()),
            c(LinearCombination::zero()),
        ];
        let pushed = (0..)
            .zip(&rows)
            .try_for_each(|(matrix, row)| self.push_row(matrix, row));
        self.fault = pushed.err();
        self.num_constraints += 1;
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

    /// Not extensible, as bellperson's key generation: circuits then synthesize in their one sequential order.
    fn is_extensible() -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
