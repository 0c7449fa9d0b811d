//! The proving key in memory, and whether it belongs to a circuit.

use std::io::Write;

use blstrs::{G1Affine, G2Affine};

use super::{CountMismatch, KeyError, KeyMismatch, Shape, VerifyingKey};
use crate::protocol::Digest;

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

/// The queries of a new key.
pub(super) struct Queries {
    pub(super) h: Vec<G1Affine>,
    pub(super) l: Vec<G1Affine>,
    pub(super) a: Vec<G1Affine>,
    pub(super) b_g1: Vec<G1Affine>,
    pub(super) b_g2: Vec<G2Affine>,
}

impl ProvingKey {
    /// Joins the parts of a new key and digests its file.
    pub(super) fn from_parts(vk: VerifyingKey, queries: Queries) -> Self {
        let mut key = Self {
            vk,
            h_query: queries.h,
            l_query: queries.l,
            a_query: queries.a,
            b_g1_query: queries.b_g1,
            b_g2_query: queries.b_g2,
            digest: Digest([0; 32]),
        };
        let mut hasher = blake3::Hasher::new();
        key.write(&mut hasher)
            .and_then(|()| hasher.flush())
            .expect("writing to a hasher does not fail");
        key.digest = Digest(*hasher.finalize().as_bytes());
        key
    }

    /// Checks that the key has the counts that a circuit needs.
    ///
    /// A key of equal counts and another circuit passes: only a verified proof tells.
    ///
    /// # Errors
    /// [`KeyError::DoesNotFit`], with both digests and all counts that differ.
    pub fn fits(&self, shape: &Shape) -> Result<(), KeyError> {
        let num_b = shape.density.num_b();
        let num_a = shape.num_inputs + shape.density.num_a_aux();
        let counts = [
            ("ic", self.vk.ic.len(), shape.num_inputs),
            ("h_query", self.h_query.len(), shape.domain_size() - 1),
            ("l_query", self.l_query.len(), shape.num_aux),
            ("a_query", self.a_query.len(), num_a),
            ("b_g1_query", self.b_g1_query.len(), num_b),
            ("b_g2_query", self.b_g2_query.len(), num_b),
        ];
        let differing = counts
            .into_iter()
            .filter(|(_, key, circuit)| key != circuit);
        let counts: Vec<CountMismatch> = differing
            .map(|(field, key, circuit)| CountMismatch {
                field,
                key,
                circuit,
            })
            .collect();
        if counts.is_empty() {
            return Ok(());
        }
        Err(KeyError::DoesNotFit(Box::new(KeyMismatch {
            key: self.digest,
            shape: shape.digest,
            counts,
        })))
    }
}
