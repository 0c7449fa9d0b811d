//! Proofs, and the only way to a verified one.

use blstrs::{Bls12, G1Affine, G1Projective, G2Affine, G2Prepared, Gt};
use group::Curve;
use group::prime::PrimeCurveAffine;
use pairing::{MillerLoopResult, MultiMillerLoop};

use super::{Scalar, VerifyingKey};

/// Bytes of an encoded proof: 48 + 96 + 48.
pub const PROOF_LEN: usize = 192;

/// Why bytes are no proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// Not 192 bytes.
    #[error("a proof has {PROOF_LEN} bytes, these are {found}")]
    Length {
        /// How many there are.
        found: usize,
    },
    /// A point that is not on the curve, not in the subgroup, not canonical, or the identity.
    #[error("point {point} of the proof is not a non-zero element of its group")]
    Point {
        /// `a`, `b` or `c`.
        point: &'static str,
    },
}

/// Why a proof was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The number of public inputs is not the key's.
    #[error("key takes {expected} public inputs, {found} were given")]
    InputCount {
        /// Of the key, without the leading one.
        expected: usize,
        /// Given.
        found: usize,
    },
    /// The equation does not hold.
    #[error("proof does not verify for these public inputs under this key")]
    Invalid,
}

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

impl Proof {
    /// bellperson's encoding: A, B, C compressed.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; PROOF_LEN] {
        let mut bytes = [0; PROOF_LEN];
        bytes[..48].copy_from_slice(&self.a.to_compressed());
        bytes[48..144].copy_from_slice(&self.b.to_compressed());
        bytes[144..].copy_from_slice(&self.c.to_compressed());
        bytes
    }

    /// Reads bellperson's encoding; every point must be canonical, in its subgroup and not the identity.
    ///
    /// # Errors
    /// [`ProofError`] with the point at fault.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ProofError> {
        let bytes: &[u8; PROOF_LEN] = bytes
            .try_into()
            .map_err(|_| ProofError::Length { found: bytes.len() })?;
        let g1 = |range: std::ops::Range<usize>, point| {
            let mut compressed = [0; 48];
            compressed.copy_from_slice(&bytes[range]);
            let read: Option<G1Affine> = G1Affine::from_compressed(&compressed).into();
            read.filter(|read| !bool::from(read.is_identity()))
                .ok_or(ProofError::Point { point })
        };
        let mut compressed = [0; 96];
        compressed.copy_from_slice(&bytes[48..144]);
        let b: Option<G2Affine> = G2Affine::from_compressed(&compressed).into();
        let b = b
            .filter(|b| !bool::from(b.is_identity()))
            .ok_or(ProofError::Point { point: "b" })?;
        Ok(Self {
            a: g1(0..48, "a")?,
            b,
            c: g1(144..192, "c")?,
        })
    }

    /// Verifies the proof: e(A, B) = e(α, β) · e(Σ inputᵢ · icᵢ, γ) · e(C, δ).
    ///
    /// # Errors
    /// [`VerifyError::InputCount`] if the key takes another number of inputs, [`VerifyError::Invalid`] otherwise.
    pub fn verify(
        self,
        key: &PreparedVerifyingKey,
        public_inputs: &[Scalar],
    ) -> Result<VerifiedProof, VerifyError> {
        let expected = key.ic.len() - 1;
        if public_inputs.len() != expected {
            return Err(VerifyError::InputCount {
                expected,
                found: public_inputs.len(),
            });
        }
        let mut sum = G1Projective::from(key.ic[0]);
        for (input, base) in public_inputs.iter().zip(&key.ic[1..]) {
            sum += base * input;
        }
        let loops = Bls12::multi_miller_loop(&[
            (&self.a, &G2Prepared::from(self.b)),
            (&sum.to_affine(), &key.gamma_g2_neg),
            (&self.c, &key.delta_g2_neg),
        ]);
        if loops.final_exponentiation() == key.alpha_beta {
            return Ok(VerifiedProof {
                proof: self,
                public_inputs: public_inputs.to_vec(),
            });
        }
        Err(VerifyError::Invalid)
    }
}

/// A verifying key with its pairings prepared.
#[derive(Debug, Clone)]
pub struct PreparedVerifyingKey {
    alpha_beta: Gt,
    gamma_g2_neg: G2Prepared,
    delta_g2_neg: G2Prepared,
    ic: Vec<G1Affine>,
}

impl PreparedVerifyingKey {
    /// Prepares a key; it must hold the point of the leading input, which every checked key does.
    pub(super) fn new(key: &VerifyingKey) -> Self {
        let mut ic = key.ic.clone();
        if ic.is_empty() {
            ic.push(G1Affine::identity());
        }
        let alpha_beta =
            Bls12::multi_miller_loop(&[(&key.alpha_g1, &G2Prepared::from(key.beta_g2))]);
        Self {
            alpha_beta: alpha_beta.final_exponentiation(),
            gamma_g2_neg: G2Prepared::from(-key.gamma_g2),
            delta_g2_neg: G2Prepared::from(-key.delta_g2),
            ic,
        }
    }
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

/// Canonical big-endian bytes of a scalar.
#[must_use]
pub fn scalar_to_be(scalar: &Scalar) -> [u8; 32] {
    scalar.to_bytes_be()
}

/// Reads canonical big-endian bytes; `None` for a value at or above the modulus: nothing is reduced silently.
#[must_use]
pub fn scalar_from_be(bytes: &[u8; 32]) -> Option<Scalar> {
    Scalar::from_bytes_be(bytes).into()
}
