//! Proofs, and the only way to a verified one.

use blstrs::{G1Affine, G2Affine};

use super::Scalar;

/// A Groth16 proof; 192 bytes compressed (48 + 96 + 48), in bellperson's encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// A.
    pub a: G1Affine,
    /// B.
    pub b: G2Affine,
    /// C.
    pub c: G1Affine,
}

/// A proof that verified for these public inputs. Only verification constructs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedProof {
    proof: Proof,
    public_inputs: Vec<Scalar>,
}

impl VerifiedProof {
    /// The proof.
    #[must_use]
    pub const fn proof(&self) -> &Proof {
        &self.proof
    }

    /// Public inputs without the leading one.
    #[must_use]
    pub fn public_inputs(&self) -> &[Scalar] {
        &self.public_inputs
    }
}
