//! `MsmResults → Proof`: the blinding factors come in, and only here.

use blstrs::{G1Projective, G2Projective};
use ff::Field;
use group::Curve;
use proofmill_shared::groth16::{Proof, Scalar, VerifyingKey};
use rand_core::{CryptoRng, RngCore};

use super::MsmResults;

/// The random numbers that make a proof zero-knowledge: fresh for every proof, never shared, never shown.
#[expect(
    missing_debug_implementations,
    reason = "secret: a debug line would show it"
)]
#[derive(Clone, PartialEq, Eq)]
pub struct BlindingFactors {
    /// Blinds A.
    pub r: Scalar,
    /// Blinds B.
    pub s: Scalar,
}

impl BlindingFactors {
    /// Draws both.
    #[must_use]
    pub fn random(rng: &mut (impl RngCore + CryptoRng)) -> Self {
        Self {
            r: Scalar::random(&mut *rng),
            s: Scalar::random(rng),
        }
    }
}

/// Puts a proof together.
///
/// A = α + a + r·δ, B = β + b + s·δ, C = h + l + s·A + r·B₁ − r·s·δ, where B₁ is B in G1.
///
/// # Source
/// Groth16, eprint 2016/260, section 3.2.
pub(super) fn assemble(
    vk: &VerifyingKey,
    results: &MsmResults,
    blinding: &BlindingFactors,
) -> Proof {
    let BlindingFactors { r, s } = blinding;
    let delta = G1Projective::from(vk.delta_g1);
    let a = results.a + vk.alpha_g1 + delta * r;
    let b = results.b_g2 + vk.beta_g2 + G2Projective::from(vk.delta_g2) * s;
    let b_g1 = results.b_g1 + vk.beta_g1 + delta * s;
    let c = results.h + results.l + a * s + b_g1 * r - delta * (*r * s);
    Proof {
        a: a.to_affine(),
        b: b.to_affine(),
        c: c.to_affine(),
    }
}
