//! Keys in memory.

use blstrs::{G1Affine, G2Affine};

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
