//! The Lagrange basis of an evaluation domain, evaluated at one point.

use ff::{Field, PrimeField};
use rayon::prelude::*;

use super::super::Scalar;
use super::super::scalar::is_zero;

/// Elements that share one inversion.
const BATCH: usize = 1024;

/// t(τ) = τᵐ − 1, zero exactly where τ lies in the domain.
pub(super) fn vanishing_at(domain_size: usize, tau: Scalar) -> Scalar {
    tau.pow_vartime([domain_size as u64]) - Scalar::ONE
}

/// Lⱼ(τ) = ωʲ · t(τ) / (m · (τ − ωʲ)) for j from 0 to m − 1; τ must lie outside the domain.
pub(super) fn basis_at(domain_size: usize, tau: Scalar) -> Vec<Scalar> {
    let omega = root_of_unity(domain_size);
    let size = Scalar::from(domain_size as u64);
    let factor = vanishing_at(domain_size, tau) * size.invert().unwrap_or(Scalar::ZERO);
    let mut basis = vec![Scalar::ZERO; domain_size];
    basis
        .par_chunks_mut(BATCH)
        .enumerate()
        .for_each(|(batch, basis)| {
            let mut power = omega.pow_vartime([(batch * BATCH) as u64]);
            let mut numerators = Vec::with_capacity(basis.len());
            for denominator in &mut *basis {
                *denominator = tau - power;
                numerators.push(power * factor);
                power *= omega;
            }
            invert_all(basis);
            for (value, numerator) in basis.iter_mut().zip(numerators) {
                *value *= numerator;
            }
        });
    basis
}

/// ω of order m, a power of two up to 2³².
fn root_of_unity(domain_size: usize) -> Scalar {
    let log_size = domain_size.trailing_zeros();
    (log_size..Scalar::S).fold(Scalar::ROOT_OF_UNITY, |root, _| root.square())
}

/// Inverts non-zero elements by one inversion and three multiplications each. Zeros stay.
fn invert_all(values: &mut [Scalar]) {
    let mut product = Scalar::ONE;
    let mut before = Vec::with_capacity(values.len());
    for value in values.iter().filter(|value| !is_zero(value)) {
        before.push(product);
        product *= value;
    }
    let mut inverse = product.invert().unwrap_or(Scalar::ZERO);
    let non_zero = values.iter_mut().rev().filter(|value| !is_zero(value));
    for (value, before) in non_zero.zip(before.into_iter().rev()) {
        let this = inverse * before;
        inverse *= *value;
        *value = this;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_basis_interpolates() {
        // p(X) = X³ + 2X + 7 from its values on the domain.
        let p = |x: Scalar| x.square() * x + x.double() + Scalar::from(7);
        let tau = Scalar::from(123_456_789);
        for domain_size in [4, 8, 4096] {
            let omega = root_of_unity(domain_size);
            let basis = basis_at(domain_size, tau);
            let mut x = Scalar::ONE;
            let mut value = Scalar::ZERO;
            for l in basis {
                value += l * p(x);
                x *= omega;
            }
            assert_eq!(x, Scalar::ONE);
            assert_eq!(value, p(tau));
        }
    }

    #[test]
    fn a_domain_of_one_has_the_constant_basis() {
        assert_eq!(basis_at(1, Scalar::from(9)), [Scalar::ONE]);
    }

    #[test]
    fn zeros_do_not_spoil_a_batch() {
        let mut values = [3, 0, 5, 0].map(Scalar::from);
        invert_all(&mut values);
        assert_eq!(values[0] * Scalar::from(3), Scalar::ONE);
        assert_eq!(values[2] * Scalar::from(5), Scalar::ONE);
        assert_eq!((values[1], values[3]), (Scalar::ZERO, Scalar::ZERO));
    }
}
