//! Whether an assignment satisfies a circuit, and if not, where it first fails.

use rayon::prelude::*;

use super::matrix::{RowProduct, balanced_rows};
use super::{Assignment, Shape, ShapeError};

impl Shape {
    /// The number of the first constraint, from 0, with (A·w)∘(B·w) ≠ C·w; `None` if the assignment satisfies all.
    ///
    /// # Errors
    /// [`ShapeError::AssignmentLength`] or [`ShapeError::LeadingOne`] if the assignment is not one of this shape.
    pub fn first_unsatisfied(&self, assignment: &Assignment) -> Result<Option<usize>, ShapeError> {
        self.check_assignment(assignment)?;
        let product = RowProduct::new(&self.dictionary, &assignment.input, &assignment.aux);
        let fails = |row: &usize| {
            let a = product.row(&self.a, *row);
            let b = product.row(&self.b, *row);
            a * b != product.row(&self.c, *row)
        };
        let pieces = balanced_rows(&[&self.a, &self.b, &self.c]);
        Ok(pieces
            .into_par_iter()
            .find_map_first(|rows| rows.into_iter().find(fails)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scalar;
    use super::super::circuits::{Cubic, assignment_of};
    use super::*;

    #[test]
    fn a_true_witness_satisfies_and_a_false_one_names_its_first_failure() {
        let circuit = Cubic {
            x: Some(Scalar::from(3)),
            links: 100,
        };
        let shape = Shape::record(circuit.clone()).unwrap();
        let good = assignment_of(circuit);
        assert_eq!(shape.first_unsatisfied(&good).unwrap(), None);
        for broken_aux in [2, 57, 140] {
            let mut bad = good.clone();
            bad.aux[broken_aux] += Scalar::from(1);
            let expected = first_failure_by_hand(&shape, &bad);
            assert!(expected.is_some());
            assert_eq!(shape.first_unsatisfied(&bad).unwrap(), expected);
        }
    }

    fn first_failure_by_hand(shape: &Shape, assignment: &Assignment) -> Option<usize> {
        let w = [assignment.input.clone(), assignment.aux.clone()].concat();
        let dot = |matrix: &super::super::SparseMatrix, row: usize| -> Scalar {
            let terms = matrix.row(row);
            terms
                .map(|(column, index)| w[column] * shape.dictionary[index])
                .sum()
        };
        (0..shape.num_constraints)
            .find(|row| dot(&shape.a, *row) * dot(&shape.b, *row) != dot(&shape.c, *row))
    }

    #[test]
    fn an_assignment_of_another_circuit_is_refused_with_both_counts() {
        let circuit = Cubic {
            x: Some(Scalar::from(3)),
            links: 2,
        };
        let shape = Shape::record(circuit.clone()).unwrap();
        let mut assignment = assignment_of(circuit);
        assignment.aux.pop();
        let error = shape.first_unsatisfied(&assignment).unwrap_err();
        assert!(matches!(error, ShapeError::AssignmentLength { .. }));
        let counts = format!(
            "the circuit has {} inputs and {} aux",
            shape.num_inputs, shape.num_aux
        );
        assert!(error.to_string().contains(&counts), "{error}");
        assignment.aux.push(Scalar::from(0));
        assignment.input[0] = Scalar::from(2);
        let error = shape.first_unsatisfied(&assignment).unwrap_err();
        assert!(matches!(error, ShapeError::LeadingOne));
    }
}
