//! The secret numbers of a set-up. They exist only while a development key is generated.

use blstrs::{G1Projective, G2Projective};
use ff::Field;
use group::Group;
use rand_core::{CryptoRng, RngCore};

use super::super::Scalar;
use super::super::scalar::is_zero;

/// What must be forgotten. Neither `Debug` nor `Clone`.
pub(super) struct ToxicWaste {
    /// Generator of G1.
    pub(super) g1: G1Projective,
    /// Generator of G2.
    pub(super) g2: G2Projective,
    pub(super) alpha: Scalar,
    pub(super) beta: Scalar,
    pub(super) gamma: Scalar,
    pub(super) delta: Scalar,
    pub(super) tau: Scalar,
}

impl ToxicWaste {
    /// Draws in bellperson's order: the same random numbers give the same key there.
    pub(super) fn draw<R: RngCore + CryptoRng>(rng: &mut R) -> Self {
        Self {
            g1: G1Projective::random(&mut *rng),
            g2: G2Projective::random(&mut *rng),
            alpha: Scalar::random(&mut *rng),
            beta: Scalar::random(&mut *rng),
            gamma: Scalar::random(&mut *rng),
            delta: Scalar::random(&mut *rng),
            tau: Scalar::random(&mut *rng),
        }
    }

    /// 1/γ and 1/δ, unless this draw makes a key that is the identity somewhere or lets anyone forge.
    pub(super) fn inverses(&self) -> Option<(Scalar, Scalar)> {
        let is_usable = !is_zero(&self.alpha)
            && !is_zero(&self.beta)
            && self.gamma != self.delta
            && !bool::from(self.g1.is_identity())
            && !bool::from(self.g2.is_identity());
        let gamma = Option::from(self.gamma.invert());
        let delta = Option::from(self.delta.invert());
        gamma.zip(delta).filter(|_| is_usable)
    }
}
