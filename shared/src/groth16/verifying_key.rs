//! The verifying key, as bytes and back.

use blstrs::{Bls12, G1Affine, G2Affine};
use pairing::Engine;

use super::params_file::FieldReader;
use super::{Check, KeyError};
use crate::protocol::Digest;

/// Verifying key of one circuit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyingKey {
    /// α in G1.
    pub alpha_g1: G1Affine,
    /// β in G1, for B in G1 (provers only).
    pub beta_g1: G1Affine,
    /// β in G2.
    pub beta_g2: G2Affine,
    /// γ in G2.
    pub gamma_g2: G2Affine,
    /// δ in G1.
    pub delta_g1: G1Affine,
    /// δ in G2.
    pub delta_g2: G2Affine,
    /// (β·aᵢ(τ) + α·bᵢ(τ) + cᵢ(τ)) / γ for the inputs; length `num_inputs`.
    pub ic: Vec<G1Affine>,
}

impl VerifyingKey {
    /// Encodes the key as bellperson does: uncompressed points, big-endian.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.alpha_g1.to_uncompressed());
        bytes.extend_from_slice(&self.beta_g1.to_uncompressed());
        bytes.extend_from_slice(&self.beta_g2.to_uncompressed());
        bytes.extend_from_slice(&self.gamma_g2.to_uncompressed());
        bytes.extend_from_slice(&self.delta_g1.to_uncompressed());
        bytes.extend_from_slice(&self.delta_g2.to_uncompressed());
        let count = u32::try_from(self.ic.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&count.to_be_bytes());
        for point in &self.ic {
            bytes.extend_from_slice(&point.to_uncompressed());
        }
        bytes
    }

    /// Decodes and fully checks bellperson's encoding; nothing may follow it.
    ///
    /// # Errors
    /// [`KeyError`], by the first fault found.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        let mut reader = FieldReader::new(bytes);
        let vk = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(vk)
    }

    /// Digest of the encoding.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.to_bytes())
    }

    /// Reads the key at the start of a params file. Its points are few: they are always checked in full.
    pub(super) fn read(reader: &mut FieldReader<'_>) -> Result<Self, KeyError> {
        let vk = Self {
            alpha_g1: reader.point("alpha_g1")?,
            beta_g1: reader.point("beta_g1")?,
            beta_g2: reader.point("beta_g2")?,
            gamma_g2: reader.point("gamma_g2")?,
            delta_g1: reader.point("delta_g1")?,
            delta_g2: reader.point("delta_g2")?,
            ic: reader.points("ic", Check::Full)?,
        };
        vk.check_relations()?;
        Ok(vk)
    }

    fn check_relations(&self) -> Result<(), KeyError> {
        if self.gamma_g2 == self.delta_g2 {
            return Err(KeyError::GammaEqualsDelta);
        }
        // e(β₁, δ₂) = e(δ₁, β₂), whatever the generators.
        if Bls12::pairing(&self.beta_g1, &self.delta_g2)
            != Bls12::pairing(&self.delta_g1, &self.beta_g2)
        {
            return Err(KeyError::Inconsistent);
        }
        Ok(())
    }
}
