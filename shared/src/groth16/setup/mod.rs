//! Development key generation: one party draws the toxic waste, so that party can forge proofs.
//!
//! *Layout*: `toxic_waste` (the secret numbers), `lagrange` (the domain's Lagrange basis at τ), `qap` (the scalars of every
//! query), `fixed_base` (scalars to points). [`generate_development_key`] is the summary.
//!
//! # Source
//! Groth16, eprint 2016/260, section 3.2; queries as in bellperson `groth16/generator.rs`.

use std::sync::atomic::{AtomicUsize, Ordering};

use group::Curve;
use rand_core::{CryptoRng, RngCore};

use self::fixed_base::FixedBase;
use self::qap::QueryScalars;
use self::toxic_waste::ToxicWaste;
use super::proving_key::Queries;
use super::{ProvingKey, Shape, VerifyingKey};

mod fixed_base;
mod lagrange;
mod qap;
mod toxic_waste;

/// Draws of toxic waste before giving up. One draw fails with a probability below 2⁻²⁰⁰.
const MAX_DRAWS: usize = 8;

/// How far key generation has come, in points computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetupProgress {
    /// Points computed.
    pub done: usize,
    /// Points that the key holds.
    pub total: usize,
}

/// Why no key can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// A variable that no constraint uses could take any value; its l query would be the identity.
    #[error("aux variable {aux} occurs in no constraint: constrain it or do not allocate it")]
    UnconstrainedVariable {
        /// Number of the aux variable, from 0.
        aux: usize,
    },
    /// The random numbers repeat or are zero.
    #[error("random source gives unusable numbers")]
    Randomness,
}

/// Generates a proving key for development: whoever knows what `rng` gave can forge proofs of this circuit.
///
/// `progress` is called from several threads, with `done` in no particular order.
///
/// # Errors
/// [`SetupError`].
pub fn generate_development_key<R: RngCore + CryptoRng>(
    shape: &Shape,
    rng: &mut R,
    progress: &(dyn Fn(SetupProgress) + Sync),
) -> Result<ProvingKey, SetupError> {
    if let Some(aux) = qap::unconstrained_aux(shape) {
        return Err(SetupError::UnconstrainedVariable { aux });
    }
    for _ in 0..MAX_DRAWS {
        let waste = ToxicWaste::draw(rng);
        if let Some(scalars) = QueryScalars::evaluate(shape, &waste) {
            return Ok(key_of(&waste, &scalars, progress));
        }
    }
    Err(SetupError::Randomness)
}

/// Multiplies the generators with every scalar of the key.
fn key_of(
    waste: &ToxicWaste,
    scalars: &QueryScalars,
    progress: &(dyn Fn(SetupProgress) + Sync),
) -> ProvingKey {
    let num_g1 = [&scalars.ic, &scalars.h, &scalars.l, &scalars.a, &scalars.b]
        .map(Vec::len)
        .iter()
        .sum::<usize>();
    let num_g2 = scalars.b.len();
    let done = AtomicUsize::new(0);
    let count = |points: usize| {
        let done = done.fetch_add(points, Ordering::Relaxed) + points;
        progress(SetupProgress {
            done,
            total: num_g1 + num_g2,
        });
    };
    let g1 = FixedBase::new(waste.g1, num_g1);
    let g2 = FixedBase::new(waste.g2, num_g2);
    let vk = VerifyingKey {
        alpha_g1: (waste.g1 * waste.alpha).to_affine(),
        beta_g1: (waste.g1 * waste.beta).to_affine(),
        beta_g2: (waste.g2 * waste.beta).to_affine(),
        gamma_g2: (waste.g2 * waste.gamma).to_affine(),
        delta_g1: (waste.g1 * waste.delta).to_affine(),
        delta_g2: (waste.g2 * waste.delta).to_affine(),
        ic: g1.multiply(&scalars.ic, &count),
    };
    let queries = Queries {
        h: g1.multiply(&scalars.h, &count),
        l: g1.multiply(&scalars.l, &count),
        a: g1.multiply(&scalars.a, &count),
        b_g1: g1.multiply(&scalars.b, &count),
        b_g2: g2.multiply(&scalars.b, &count),
    };
    ProvingKey::from_parts(vk, queries)
}

#[cfg(test)]
mod tests;
