//! The scalars of every query: the circuit's polynomials at τ.

use ff::Field;
use rayon::prelude::*;

use super::super::scalar::is_zero;
use super::super::{Scalar, Shape, SparseMatrix};
use super::lagrange::{basis_at, vanishing_at};
use super::toxic_waste::ToxicWaste;

/// Powers of τ computed by one thread from one exponentiation.
const BATCH: usize = 4096;

/// Scalars whose multiples of the generators are the key. None is zero.
pub(super) struct QueryScalars {
    /// (β·aᵢ + α·bᵢ + cᵢ) / γ; length `num_inputs`.
    pub(super) ic: Vec<Scalar>,
    /// τⁱ·t(τ)/δ; length m − 1.
    pub(super) h: Vec<Scalar>,
    /// (β·aᵢ + α·bᵢ + cᵢ) / δ; length `num_aux`.
    pub(super) l: Vec<Scalar>,
    /// aᵢ of the inputs and of the aux variables of its density.
    pub(super) a: Vec<Scalar>,
    /// bᵢ of the inputs and aux variables of its density.
    pub(super) b: Vec<Scalar>,
}

impl QueryScalars {
    /// Evaluates the circuit at τ; `None` if this draw makes a scalar zero where none may be.
    pub(super) fn evaluate(shape: &Shape, waste: &ToxicWaste) -> Option<Self> {
        let (gamma_inverse, delta_inverse) = waste.inverses()?;
        let domain_size = shape.domain_size();
        let vanishing = vanishing_at(domain_size, waste.tau);
        if is_zero(&vanishing) {
            return None;
        }
        let basis = basis_at(domain_size, waste.tau);
        let column_sums = |matrix| column_sums(shape, matrix, &basis);
        let (mut a, (b, c)) = rayon::join(
            || column_sums(&shape.a),
            || rayon::join(|| column_sums(&shape.b), || column_sums(&shape.c)),
        );
        // The rows input · 0 = 0, which make every input a base of a_query and ic.
        for (sum, l) in a
            .iter_mut()
            .zip(&basis[shape.num_constraints..])
            .take(shape.num_inputs)
        {
            *sum += l;
        }
        let combined = |inverse: Scalar, columns: std::ops::Range<usize>| -> Vec<Scalar> {
            let combine = |i: usize| (waste.beta * a[i] + waste.alpha * b[i] + c[i]) * inverse;
            columns.into_par_iter().map(combine).collect()
        };
        let (num_inputs, num_columns) = (shape.num_inputs, a.len());
        let (a_input, a_aux) = a.split_at(num_inputs);
        let (b_input, b_aux) = b.split_at(num_inputs);
        let density = &shape.density;
        let scalars = Self {
            ic: combined(gamma_inverse, 0..num_inputs),
            h: scaled_powers(waste.tau, vanishing * delta_inverse, domain_size - 1),
            l: combined(delta_inverse, num_inputs..num_columns),
            a: [a_input, &dense(a_aux, &density.a_aux)].concat(),
            b: [
                dense(b_input, &density.b_input),
                dense(b_aux, &density.b_aux),
            ]
            .concat(),
        };
        let all = [&scalars.ic, &scalars.h, &scalars.l, &scalars.a, &scalars.b];
        let has_zero = all.into_iter().flatten().any(is_zero);
        (!has_zero).then_some(scalars)
    }
}

/// The first aux variable that occurs in no constraint.
pub(super) fn unconstrained_aux(shape: &Shape) -> Option<usize> {
    let density = &shape.density;
    let mut is_used: Vec<bool> = density
        .a_aux
        .iter()
        .zip(&density.b_aux)
        .map(|(a, b)| a | b)
        .collect();
    for column in &shape.c.columns {
        if let Some(aux) = (*column as usize).checked_sub(shape.num_inputs) {
            is_used[aux] = true;
        }
    }
    is_used.iter().position(|used| !used)
}

/// Column i's polynomial at τ: the sum over its rows of coefficient · L_row(τ).
fn column_sums(shape: &Shape, matrix: &SparseMatrix, basis: &[Scalar]) -> Vec<Scalar> {
    let mut sums = vec![Scalar::ZERO; shape.num_inputs + shape.num_aux];
    for (row, l) in basis.iter().enumerate().take(matrix.num_rows()) {
        for (column, index) in matrix.row(row) {
            if index == 0 {
                sums[column] += l;
            } else {
                sums[column] += shape.dictionary[index] * l;
            }
        }
    }
    sums
}

fn dense(values: &[Scalar], density: &[bool]) -> Vec<Scalar> {
    let kept = values.iter().zip(density).filter(|(_, keep)| **keep);
    kept.map(|(value, _)| *value).collect()
}

/// factor · τⁱ for i from 0 to count − 1.
fn scaled_powers(tau: Scalar, factor: Scalar, count: usize) -> Vec<Scalar> {
    let mut powers = vec![Scalar::ZERO; count];
    powers
        .par_chunks_mut(BATCH)
        .enumerate()
        .for_each(|(batch, powers)| {
            let mut power = factor * tau.pow_vartime([(batch * BATCH) as u64]);
            for value in powers {
                *value = power;
                power *= tau;
            }
        });
    powers
}
