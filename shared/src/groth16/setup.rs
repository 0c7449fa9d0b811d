//! Development keys: a set-up run by one party, who could forge.

use blstrs::{G1Projective, G2Projective};
use ff::{Field, PrimeField};
use group::prime::PrimeCurveAffine;
use group::{Curve, Group};
use rand_core::RngCore;
use rayon::prelude::*;

use super::{ProvingKey, Scalar, Shape, SparseMatrix, VerifyingKey};
use crate::protocol::Digest;

/// Bits of one window of a fixed-base table: 32 windows of 255 points fit a core's cache.
const WINDOW_BITS: usize = 8;

/// Windows that cover a scalar of 255 bits.
const WINDOWS: usize = 32;

/// Points that one task computes: progress moves several times a second.
const POINTS_PER_TASK: usize = 1 << 10;

/// Why a key cannot be generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// An aux variable occurs in no constraint: its point in the l query would be the identity.
    #[error("aux variable {aux} occurs in no constraint: remove it from the circuit")]
    UnconstrainedVariable {
        /// Index of the variable.
        aux: usize,
    },
    /// The evaluation domain is larger than the field's two-adicity allows.
    #[error("circuit has {rows} rows, more than the field's largest domain")]
    DomainTooLarge {
        /// Rows with those added per input.
        rows: usize,
    },
}

/// How far a set-up is, in points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetupProgress {
    /// Points done.
    pub done: usize,
    /// Points in all.
    pub total: usize,
}

/// τ, α, β, γ, δ: whoever keeps them can forge.
struct ToxicWaste {
    tau: Scalar,
    alpha: Scalar,
    beta: Scalar,
    gamma: Scalar,
    delta: Scalar,
}

impl ToxicWaste {
    fn draw(rng: &mut impl RngCore) -> Self {
        let mut nonzero = || loop {
            let value = Scalar::random(&mut *rng);
            if !bool::from(value.is_zero()) {
                return value;
            }
        };
        Self {
            tau: nonzero(),
            alpha: nonzero(),
            beta: nonzero(),
            gamma: nonzero(),
            delta: nonzero(),
        }
    }
}

/// Generates a key for a shape. `progress` is called from many threads.
///
/// # Errors
/// [`SetupError::UnconstrainedVariable`] if an aux variable occurs nowhere, [`SetupError::DomainTooLarge`].
///
/// # Source
/// Groth16, eprint 2016/260; queries and densities as bellperson's generator makes them.
pub fn generate_key(
    shape: &Shape,
    rng: &mut impl RngCore,
    progress: impl Fn(SetupProgress) + Sync,
) -> Result<ProvingKey, SetupError> {
    let waste = loop {
        let waste = ToxicWaste::draw(rng);
        // τ must not lie in the domain, and γ = δ would let anyone forge.
        if waste.tau.pow_vartime([shape.domain_size() as u64]) != Scalar::ONE
            && waste.gamma != waste.delta
        {
            break waste;
        }
    };
    let domain_size = shape.domain_size();
    let lagrange = lagrange_at(waste.tau, domain_size).ok_or(SetupError::DomainTooLarge {
        rows: shape.num_rows(),
    })?;
    let (a, b, c) = evaluate_columns(shape, &lagrange);
    let invert = |value: Scalar| value.invert().unwrap_or(Scalar::ONE);
    let (gamma_inverse, delta_inverse) = (invert(waste.gamma), invert(waste.delta));
    let joined = |index: usize| waste.beta * a[index] + waste.alpha * b[index] + c[index];
    let num_inputs = shape.num_inputs;
    let ic: Vec<Scalar> = (0..num_inputs)
        .map(|index| joined(index) * gamma_inverse)
        .collect();
    let l: Vec<Scalar> = (num_inputs..a.len())
        .map(|index| joined(index) * delta_inverse)
        .collect();
    if let Some(aux) = l.iter().position(|value| bool::from(value.is_zero())) {
        return Err(SetupError::UnconstrainedVariable { aux });
    }
    let t_over_delta = (waste.tau.pow_vartime([domain_size as u64]) - Scalar::ONE) * delta_inverse;
    let h = geometric(t_over_delta, waste.tau, domain_size - 1);
    let density = &shape.density;
    let a = select(&a, |index| {
        index < num_inputs || density.a_aux[index - num_inputs]
    });
    let b = select(&b, |index| match index.checked_sub(num_inputs) {
        None => density.b_input[index],
        Some(aux) => density.b_aux[aux],
    });

    let counter = Counter::new(
        h.len() + l.len() + a.len() + 2 * b.len() + ic.len(),
        &progress,
    );
    let (g1, g2) = (
        FixedBase::new(G1Projective::generator()),
        FixedBase::new(G2Projective::generator()),
    );
    let vk = VerifyingKey {
        alpha_g1: (G1Projective::generator() * waste.alpha).to_affine(),
        beta_g1: (G1Projective::generator() * waste.beta).to_affine(),
        beta_g2: (G2Projective::generator() * waste.beta).to_affine(),
        gamma_g2: (G2Projective::generator() * waste.gamma).to_affine(),
        delta_g1: (G1Projective::generator() * waste.delta).to_affine(),
        delta_g2: (G2Projective::generator() * waste.delta).to_affine(),
        ic: g1.multiply_all(&ic, &counter),
    };
    let mut key = ProvingKey {
        vk,
        h_query: g1.multiply_all(&h, &counter),
        l_query: g1.multiply_all(&l, &counter),
        a_query: g1.multiply_all(&a, &counter),
        b_g1_query: g1.multiply_all(&b, &counter),
        b_g2_query: g2.multiply_all(&b, &counter),
        digest: Digest([0; 32]),
    };
    key.digest = key.compute_digest();
    Ok(key)
}

/// Counts points and reports them.
struct Counter<'a, F> {
    done: std::sync::atomic::AtomicUsize,
    total: usize,
    progress: &'a F,
}

impl<'a, F: Fn(SetupProgress) + Sync> Counter<'a, F> {
    fn new(total: usize, progress: &'a F) -> Self {
        Self {
            done: std::sync::atomic::AtomicUsize::new(0),
            total,
            progress,
        }
    }

    fn add(&self, points: usize) {
        let done = self
            .done
            .fetch_add(points, std::sync::atomic::Ordering::Relaxed)
            + points;
        (self.progress)(SetupProgress {
            done,
            total: self.total,
        });
    }
}

/// Lᵢ(τ) for every i of the domain: ωⁱ/m · (τᵐ − 1) / (τ − ωⁱ).
fn lagrange_at(tau: Scalar, domain_size: usize) -> Option<Vec<Scalar>> {
    let log = domain_size.trailing_zeros();
    let omega = (log..Scalar::S).fold(Scalar::ROOT_OF_UNITY, |root, _| root.square());
    if log > Scalar::S {
        return None;
    }
    let size = Option::<Scalar>::from(Scalar::from(domain_size as u64).invert())?;
    let factor = (tau.pow_vartime([domain_size as u64]) - Scalar::ONE) * size;
    let powers = geometric(Scalar::ONE, omega, domain_size);
    let mut values: Vec<Scalar> = powers.iter().map(|power| tau - power).collect();
    invert_all(&mut values);
    values
        .par_iter_mut()
        .zip(&powers)
        .for_each(|(value, power)| *value *= factor * power);
    Some(values)
}

/// first, first·ratio, first·ratio², … `len` of them.
fn geometric(first: Scalar, ratio: Scalar, len: usize) -> Vec<Scalar> {
    std::iter::successors(Some(first), |value| Some(*value * ratio))
        .take(len)
        .collect()
}

/// Inverts non-zero elements in place with one inversion.
fn invert_all(values: &mut [Scalar]) {
    let mut products = Vec::with_capacity(values.len());
    let mut product = Scalar::ONE;
    for value in values.iter() {
        products.push(product);
        product *= value;
    }
    let mut inverse = product.invert().unwrap_or(Scalar::ONE);
    for (value, before) in values.iter_mut().zip(products).rev() {
        let inverted = inverse * before;
        inverse *= &*value;
        *value = inverted;
    }
}

/// aᵢ(τ), bᵢ(τ), cᵢ(τ) for every column, with the implied rows inputᵢ · 0 = 0.
fn evaluate_columns(shape: &Shape, lagrange: &[Scalar]) -> (Vec<Scalar>, Vec<Scalar>, Vec<Scalar>) {
    let columns = |matrix: &SparseMatrix| {
        let mut sums = vec![Scalar::ZERO; shape.num_inputs + shape.num_aux];
        for (row, weight) in lagrange.iter().enumerate().take(matrix.num_rows()) {
            for (column, coefficient) in matrix.row(row) {
                sums[column] += shape.dictionary[coefficient] * weight;
            }
        }
        sums
    };
    let (mut a, (b, c)) = rayon::join(
        || columns(&shape.a),
        || rayon::join(|| columns(&shape.b), || columns(&shape.c)),
    );
    for input in 0..shape.num_inputs {
        a[input] += lagrange[shape.num_constraints + input];
    }
    (a, b, c)
}

fn select(values: &[Scalar], is_wanted: impl Fn(usize) -> bool) -> Vec<Scalar> {
    let wanted = values
        .iter()
        .enumerate()
        .filter(|(index, _)| is_wanted(*index));
    wanted.map(|(_, value)| *value).collect()
}

/// Multiples of one point, by windows: table[w][d − 1] = d · 2^(8w) · base.
struct FixedBase<G: Curve> {
    table: Vec<Vec<G::AffineRepr>>,
}

/// What [`FixedBase`] needs of a curve group.
trait FixedBaseGroup: Curve<AffineRepr: PrimeCurveAffine<Curve = Self>> + Send + Sync {}
impl FixedBaseGroup for G1Projective {}
impl FixedBaseGroup for G2Projective {}

impl<G> FixedBase<G>
where
    G: FixedBaseGroup + for<'a> std::ops::AddAssign<&'a G::AffineRepr>,
    G::AffineRepr: Send + Sync,
{
    fn new(base: G) -> Self {
        let mut table = Vec::with_capacity(WINDOWS);
        let mut window_base = base;
        for _ in 0..WINDOWS {
            let mut multiples = Vec::with_capacity((1 << WINDOW_BITS) - 1);
            let mut multiple = window_base;
            for _ in 1..1usize << WINDOW_BITS {
                multiples.push(multiple);
                multiple += &window_base;
            }
            let mut affine = vec![G::AffineRepr::identity(); multiples.len()];
            G::batch_normalize(&multiples, &mut affine);
            table.push(affine);
            window_base = multiple;
        }
        Self { table }
    }

    fn multiply(&self, scalar: &Scalar) -> G {
        let mut sum = G::identity();
        for (window, digit) in self.table.iter().zip(scalar.to_repr()) {
            if digit != 0 {
                sum += &window[usize::from(digit) - 1];
            }
        }
        sum
    }

    fn multiply_all<F: Fn(SetupProgress) + Sync>(
        &self,
        scalars: &[Scalar],
        counter: &Counter<'_, F>,
    ) -> Vec<G::AffineRepr> {
        let mut points = vec![G::AffineRepr::identity(); scalars.len()];
        points
            .par_chunks_mut(POINTS_PER_TASK)
            .zip(scalars.par_chunks(POINTS_PER_TASK))
            .for_each(|(points, scalars)| {
                let products: Vec<G> = scalars.iter().map(|scalar| self.multiply(scalar)).collect();
                G::batch_normalize(&products, points);
                counter.add(points.len());
            });
        points
    }
}

const _: () = assert!(WINDOWS * WINDOW_BITS >= 255);
