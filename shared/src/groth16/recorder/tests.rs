use super::super::circuits::{Cubic, Dangling, Rows, scalar, shape_of};
use super::*;
use blstrs::Bls12;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// A circuit with every case in which densities go wrong.
fn awkward() -> Rows {
    Rows {
        inputs: vec![scalar(2), scalar(3)],
        aux: vec![scalar(6), scalar(5), scalar(7), scalar(1)],
        // Variables: 0 one, 1 and 2 inputs, 3 to 6 aux.
        rows: vec![
            // Input × input.
            [vec![(1, 1)], vec![(2, 1)], vec![(3, 1)]],
            // A zero coefficient in A and B; a variable only in B.
            [vec![(0, 5), (5, 0)], vec![(4, 1), (6, 0)], vec![(4, 5)]],
            // Terms that repeat, and terms that cancel.
            [
                vec![(5, 1), (3, 1), (5, 1), (4, 2), (4, -2)],
                vec![(0, 1), (2, 4), (2, -4)],
                vec![(0, 20)],
            ],
            // An aux variable only in C, and an input first used in the last row.
            [vec![(0, 1)], vec![(0, 1)], vec![(6, 1)]],
        ],
    }
}

#[test]
fn densities_equal_those_of_bellperson_key_generation() {
    let circuits = [
        awkward(),
        Rows {
            inputs: vec![],
            aux: vec![scalar(4)],
            rows: vec![[vec![(0, 2)], vec![(0, 2)], vec![(1, 1)]]],
        },
    ];
    for circuit in circuits {
        let shape = shape_of(circuit.clone());
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let params =
            bellperson::groth16::generate_random_parameters::<Bls12, _, _>(circuit, &mut rng)
                .unwrap();
        assert_eq!(params.a.len(), shape.num_inputs + shape.density.num_a_aux());
        assert_eq!(params.b_g1.len(), shape.density.num_b());
        assert_eq!(params.b_g2.len(), shape.density.num_b());
        assert_eq!(params.h.len(), shape.domain_size() - 1);
        assert_eq!(params.l.len(), shape.num_aux);
        assert_eq!(params.vk.ic.len(), shape.num_inputs);
    }
}

#[test]
fn rows_are_combined_ascending_and_free_of_zeros() {
    let shape = shape_of(awkward());
    let minus = |value: u64| -Scalar::from(value);
    let row = |matrix: &SparseMatrix, row: usize| -> Vec<(usize, Scalar)> {
        let terms = matrix.row(row);
        terms
            .map(|(column, index)| (column, shape.dictionary[index]))
            .collect()
    };
    let five = Scalar::from(5);
    assert_eq!(row(&shape.a, 1), [(0, five)]);
    assert_eq!(row(&shape.b, 1), [(4, Scalar::ONE)]);
    assert_eq!(row(&shape.a, 2), [(3, Scalar::ONE), (5, Scalar::from(2))]);
    assert_eq!(row(&shape.b, 2), [(0, Scalar::ONE)]);
    assert_eq!(shape.density.a_aux, [true, false, true, false]);
    assert_eq!(shape.density.b_aux, [false, true, false, false]);
    assert_eq!(shape.density.b_input, [true, false, true]);
    assert!(!shape.dictionary.contains(&minus(4)));
    assert_eq!(shape.dictionary[0], Scalar::ONE);
}

#[test]
fn the_shape_of_a_circuit_does_not_depend_on_its_witness() {
    let blank = shape_of(Cubic { x: None, links: 4 });
    let full = shape_of(Cubic {
        x: Some(scalar(9)),
        links: 4,
    });
    assert_eq!(blank, full);
    assert_ne!(blank.digest, shape_of(Cubic { x: None, links: 5 }).digest);
}

#[test]
fn inputs_allocated_between_constraints_keep_their_columns() {
    let shape = shape_of(Cubic { x: None, links: 2 });
    assert_eq!((shape.num_inputs, shape.num_aux), (2, 4));
    // The public result (column 1) is allocated last and is subtracted nowhere but in the last row.
    let columns: Vec<usize> = shape.c.row(3).map(|(column, _)| column).collect();
    assert_eq!(columns, [0, 1, 4]);
}

#[test]
fn a_circuit_without_constraints_has_the_row_of_its_one_input() {
    let shape = shape_of(Rows {
        inputs: vec![],
        aux: vec![],
        rows: vec![],
    });
    assert_eq!((shape.num_rows(), shape.domain_size()), (1, 1));
}

#[test]
fn a_variable_that_was_never_allocated_is_an_error() {
    let error = Shape::record(Dangling).unwrap_err();
    assert!(matches!(
        error,
        ShapeError::UnknownVariable { constraint: 0 }
    ));
}

#[test]
fn more_distinct_coefficients_than_two_bytes_name_take_four() {
    let count = i64::try_from(CoefficientIndices::NARROW_LIMIT).unwrap();
    let terms = |from| (from..=count).map(|value| (0, value));
    let rows = |from| Rows {
        inputs: vec![],
        aux: vec![],
        rows: terms(from)
            .map(|term| [vec![term], vec![], vec![]])
            .collect(),
    };
    assert!(matches!(
        shape_of(rows(1)).a.coefficients,
        CoefficientIndices::Narrow(_)
    ));
    let wide = shape_of(Rows {
        rows: [rows(1).rows, vec![[vec![(0, -1)], vec![], vec![]]]].concat(),
        ..rows(1)
    });
    assert!(matches!(wide.a.coefficients, CoefficientIndices::Wide(_)));
    assert_eq!(Shape::decode(&wide.encode()).unwrap(), wide);
}
