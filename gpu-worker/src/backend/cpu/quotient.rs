//! The quotient h(X) = (a(X)·b(X) − c(X)) / t(X), t(X) = X^m − 1, by six transforms.
//!
//! Why six are enough, where the textbook takes seven: let P = a·b mod (X^m − g^m), which is what interpolating the
//! products a·b on the coset g·⟨ω⟩ gives. On a satisfied assignment a·b = h·(X^m − 1) + c with deg c, deg h < m, and
//! X^m = g^m modulo X^m − g^m, so P = h·(g^m − 1) + c, hence h = (P − c) / (g^m − 1): c need not be transformed to the
//! coset. And c, of degree below m, is fixed by its values on ⟨ω⟩, which are a∘b: the matrix C need not be evaluated.
//! With g a primitive 2m-th root of unity, g^m − 1 = −2. The polynomial h does not depend on the choice of g.

use ff::Field;
use proofmill_shared::groth16::Scalar;
use rayon::prelude::*;

use super::domain::Domain;

/// Elements that one core treats at a time outside the transforms.
const CHUNK: usize = 1 << 10;

/// Computes the coefficients of h from a = A·w and b = B·w on the domain, which are used up.
///
/// Shapes: a and b hold m elements, zero past the last row; the result holds m − 1, in natural order (the coefficient
/// of X^(m−1) is zero, and the key has no base for it).
pub(super) fn quotient(domain: &Domain, mut a: Vec<Scalar>, mut b: Vec<Scalar>) -> Vec<Scalar> {
    let mut c: Vec<Scalar> = Vec::with_capacity(domain.size());
    a.par_iter()
        .zip(&b)
        .map(|(a, b)| a * b)
        .collect_into_vec(&mut c);

    let on_coset = |values: &mut [Scalar]| {
        // Position p of the scattered values holds m times coefficient −i mod m, i = p reversed; `coset` has the power of
        // g for it, divided by m. Taken as coefficient i, the values that come out are those at g·ω^(−k).
        domain.scatter(values);
        multiply(values, &domain.coset);
        domain.gather(values);
    };
    rayon::join(
        || rayon::join(|| on_coset(&mut a), || on_coset(&mut b)),
        || domain.scatter(&mut c),
    );
    multiply(&mut a, &b);
    drop(b);
    // The order of the points is reversed a second time: position p now holds m·gⁱ times coefficient i of P.
    domain.scatter(&mut a);
    combine(domain, &a, &c)
}

/// h = (P − c) / −2, out of the scattered forms of P (on the coset) and c.
fn combine(domain: &Domain, product: &[Scalar], c: &[Scalar]) -> Vec<Scalar> {
    let minus_half = (-Scalar::from(2u64))
        .invert()
        .expect("two is not zero in a field of odd order");
    // At position 0, where g^(−0 mod m) = 1, `coset` is just 1 / m.
    let minus_half_by_m = minus_half * domain.coset[0];
    let coefficient = |i: usize| {
        let position = domain.reversed(i);
        // m·gⁱ·Pᵢ times g^(m − i) / m is g^m·Pᵢ = −Pᵢ, but for i = 0, where the power is g⁰.
        let p = product[position] * domain.coset[position];
        let p = if i == 0 { p } else { -p };
        p * minus_half - c[domain.reversed(domain.negated(i))] * minus_half_by_m
    };
    let mut h = Vec::with_capacity(domain.size() - 1);
    (0..domain.size() - 1)
        .into_par_iter()
        .with_min_len(CHUNK)
        .map(coefficient)
        .collect_into_vec(&mut h);
    h
}

fn multiply(values: &mut [Scalar], by: &[Scalar]) {
    values
        .par_chunks_mut(CHUNK)
        .zip(by.par_chunks(CHUNK))
        .for_each(|(values, by)| {
            for (value, by) in values.iter_mut().zip(by) {
                *value *= by;
            }
        });
}

#[cfg(test)]
mod tests {
    use ff::PrimeField;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    use super::*;

    /// Σ coefficientᵢ·point^i.
    fn evaluate(coefficients: &[Scalar], point: Scalar) -> Scalar {
        coefficients
            .iter()
            .rev()
            .fold(Scalar::ZERO, |sum, coefficient| sum * point + coefficient)
    }

    /// Coefficients from values in natural order, by the definition.
    fn interpolate(values: &[Scalar]) -> Vec<Scalar> {
        let size = values.len() as u64;
        let order = values.len().trailing_zeros();
        let omega = (order..Scalar::S).fold(Scalar::ROOT_OF_UNITY, |root, _| root.square());
        let scale = Scalar::from(size).invert().unwrap();
        (0..size)
            .map(|i| evaluate(values, omega.invert().unwrap().pow_vartime([i])) * scale)
            .collect()
    }

    #[test]
    fn quotient_satisfies_its_equation_at_random_points() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for log_size in 0..=6 {
            let domain = Domain::new(log_size);
            let mut random = || -> Vec<_> {
                (0..domain.size())
                    .map(|_| Scalar::random(&mut rng))
                    .collect()
            };
            let (a, b) = (random(), random());
            let c: Vec<_> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
            let h = quotient(&domain, a.clone(), b.clone());
            assert_eq!(h.len(), domain.size() - 1);
            let point = Scalar::random(&mut rng);
            let [a, b, c] = [a, b, c].map(|values| evaluate(&interpolate(&values), point));
            let t = point.pow_vartime([domain.size() as u64]) - Scalar::ONE;
            assert_eq!(evaluate(&h, point) * t, a * b - c, "size 2^{log_size}");
        }
    }
}
