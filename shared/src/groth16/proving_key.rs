//! Keys in memory.

use std::path::Path;

use blstrs::{G1Affine, G2Affine};
use group::prime::PrimeCurveAffine;

use super::params_file::{self, Check};
use super::{PreparedVerifyingKey, Shape};
use crate::protocol::Digest;

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be opened, mapped or written.
    #[error("key file {path} cannot be used")]
    File {
        /// Which one.
        path: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file is not in bellperson's layout.
    #[error("key file does not read: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// A point that is not what it must be.
    #[error("point {index} of {field} in the key {fault}: refuse keys of this source")]
    Point {
        /// Which query or element.
        field: &'static str,
        /// Index within it.
        index: usize,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// γ = δ: such keys let anyone forge.
    #[error("gamma equals delta in the key: such keys let anyone forge, refuse them")]
    GammaIsDelta,
    /// The key belongs to another circuit.
    #[error(
        "key does not fit circuit: {what} is {found} in key {key}, {expected} in circuit {circuit}"
    )]
    DoesNotFit {
        /// Which count.
        what: &'static str,
        /// In the circuit.
        expected: usize,
        /// In the key.
        found: usize,
        /// Digest of the key.
        key: Digest,
        /// Digest of the shape.
        circuit: Digest,
    },
}

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
    /// bellperson's layout.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        params_file::write_verifying_key(&mut out, self);
        out
    }

    /// BLAKE3 digest of bellperson's layout.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.to_bytes())
    }

    /// Prepares the pairings of verification.
    #[must_use]
    pub fn prepare(&self) -> PreparedVerifyingKey {
        PreparedVerifyingKey::new(self)
    }
}

/// Proving key of one circuit, in bellperson's form: a and b queries hold only variables of their density.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvingKey {
    /// The verifying key.
    pub vk: VerifyingKey,
    /// τⁱ·t(τ)/δ for i from 0 to m − 2; length m − 1.
    pub h_query: Vec<G1Affine>,
    /// (β·aᵢ(τ) + α·bᵢ(τ) + cᵢ(τ)) / δ for the aux variables; length `num_aux`.
    pub l_query: Vec<G1Affine>,
    /// aᵢ(τ) for all inputs, then for the aux variables that occur in A.
    pub a_query: Vec<G1Affine>,
    /// bᵢ(τ) in G1 for the inputs, then the aux variables, that occur in B.
    pub b_g1_query: Vec<G1Affine>,
    /// The same in G2.
    pub b_g2_query: Vec<G2Affine>,
    /// BLAKE3 digest of the params file.
    pub digest: Digest,
}

impl ProvingKey {
    /// Opens a params file, memory-mapped, and decodes it on all cores.
    ///
    /// # Errors
    /// [`KeyError::File`], [`KeyError::Malformed`]; with [`Check::Full`] also [`KeyError::Point`] and
    /// [`KeyError::GammaIsDelta`].
    pub fn open(path: &Path, check: Check) -> Result<Self, KeyError> {
        params_file::open(path, check)
    }

    /// Writes bellperson's layout.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        params_file::encode(self)
    }

    /// BLAKE3 digest of the params file.
    #[must_use]
    pub fn compute_digest(&self) -> Digest {
        params_file::digest(&self.to_bytes())
    }

    /// Bytes of the key in memory.
    #[must_use]
    pub fn resident_bytes(&self) -> usize {
        let g1 =
            self.h_query.len() + self.l_query.len() + self.a_query.len() + self.b_g1_query.len();
        (g1 + self.vk.ic.len()) * size_of::<G1Affine>()
            + self.b_g2_query.len() * size_of::<G2Affine>()
    }

    /// Checks that every count of the key is the circuit's.
    ///
    /// # Errors
    /// [`KeyError::DoesNotFit`] with the first count that differs.
    pub fn fits(&self, shape: &Shape) -> Result<(), KeyError> {
        let counts = [
            ("the number of inputs", shape.num_inputs, self.vk.ic.len()),
            (
                "the length of the l query",
                shape.num_aux,
                self.l_query.len(),
            ),
            (
                "the length of the h query",
                shape.domain_size() - 1,
                self.h_query.len(),
            ),
            (
                "the length of the a query",
                shape.density.a_len(),
                self.a_query.len(),
            ),
            (
                "the length of the b query in G1",
                shape.density.b_len(),
                self.b_g1_query.len(),
            ),
            (
                "the length of the b query in G2",
                shape.density.b_len(),
                self.b_g2_query.len(),
            ),
        ];
        for (what, expected, found) in counts {
            if expected != found {
                let (key, circuit) = (self.digest, shape.digest);
                return Err(KeyError::DoesNotFit {
                    what,
                    expected,
                    found,
                    key,
                    circuit,
                });
            }
        }
        Ok(())
    }

    /// Checks what a forger would bend: identities in the verifying key, and γ = δ.
    pub(super) fn check_soundness(&self) -> Result<(), KeyError> {
        let vk = &self.vk;
        let identities = [
            ("alpha in G1", bool::from(vk.alpha_g1.is_identity())),
            ("beta in G1", bool::from(vk.beta_g1.is_identity())),
            ("beta in G2", bool::from(vk.beta_g2.is_identity())),
            ("gamma in G2", bool::from(vk.gamma_g2.is_identity())),
            ("delta in G1", bool::from(vk.delta_g1.is_identity())),
            ("delta in G2", bool::from(vk.delta_g2.is_identity())),
        ];
        if let Some((field, _)) = identities.into_iter().find(|(_, is_identity)| *is_identity) {
            return Err(KeyError::Point {
                field,
                index: 0,
                fault: "is the identity",
            });
        }
        if vk.gamma_g2 == vk.delta_g2 {
            Err(KeyError::GammaIsDelta)
        } else {
            Ok(())
        }
    }
}
