//! Verification: the only way to a verified proof.

use blstrs::{Bls12, G1Affine, G1Projective, G2Prepared, Gt};
use group::Curve;
use pairing::{Engine, MillerLoopResult, MultiMillerLoop};
use rayon::prelude::*;

use super::{Proof, ProofError, Scalar, VerifyingKey};

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

/// A verifying key with what every verification shares computed once.
#[derive(Debug, Clone)]
pub struct PreparedVerifyingKey {
    /// e(α, β).
    alpha_beta: Gt,
    /// −γ.
    neg_gamma: G2Prepared,
    /// −δ.
    neg_delta: G2Prepared,
    ic: Vec<G1Affine>,
}

impl PreparedVerifyingKey {
    /// Public inputs that a proof takes, without the leading one.
    #[must_use]
    pub const fn num_public_inputs(&self) -> usize {
        self.ic.len().saturating_sub(1)
    }
}

impl VerifyingKey {
    /// Prepares the key for verification. It must come from a checked source: a params file or key generation.
    #[must_use]
    pub fn prepare(&self) -> PreparedVerifyingKey {
        PreparedVerifyingKey {
            alpha_beta: Bls12::pairing(&self.alpha_g1, &self.beta_g2),
            neg_gamma: (-self.gamma_g2).into(),
            neg_delta: (-self.delta_g2).into(),
            ic: self.ic.clone(),
        }
    }
}

/// Why a proof is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The proof is for another circuit.
    #[error("proof comes with {found} public inputs, the key takes {expected}")]
    InputCount {
        /// Public inputs that the key takes.
        expected: usize,
        /// Public inputs given.
        found: usize,
    },
    /// An element is the identity or no point of the subgroup.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The pairing equation does not hold.
    #[error("proof does not verify for these public inputs and this key")]
    Refused,
}

impl Proof {
    /// Verifies the proof: e(A, B) = e(α, β) · e(Σ xᵢ·icᵢ, γ) · e(C, δ).
    ///
    /// `public_inputs` are without the leading one.
    ///
    /// # Errors
    /// [`VerifyError`]; the proof is gone then, for there is nothing to do with it.
    ///
    /// # Source
    /// Groth16, eprint 2016/260, section 3.2; one final exponentiation, as in bellperson `groth16/verifier.rs`.
    pub fn verify(
        self,
        key: &PreparedVerifyingKey,
        public_inputs: &[Scalar],
    ) -> Result<VerifiedProof, VerifyError> {
        let count = VerifyError::InputCount {
            expected: key.num_public_inputs(),
            found: public_inputs.len(),
        };
        let (one, rest) = key.ic.split_first().ok_or_else(|| count.clone())?;
        if rest.len() != public_inputs.len() {
            return Err(count);
        }
        self.check_points()?;
        let terms = rest.par_iter().zip(public_inputs);
        let sum: G1Projective = terms.map(|(point, input)| point * input).sum();
        let inputs = (sum + one).to_affine();
        let product = Bls12::multi_miller_loop(&[
            (&self.a, &self.b.into()),
            (&inputs, &key.neg_gamma),
            (&self.c, &key.neg_delta),
        ]);
        if product.final_exponentiation() != key.alpha_beta {
            return Err(VerifyError::Refused);
        }
        Ok(VerifiedProof {
            proof: self,
            public_inputs: public_inputs.to_vec(),
        })
    }
}
