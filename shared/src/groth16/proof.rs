//! A proof as bytes and back.

use blstrs::{G1Affine, G2Affine};
use group::prime::PrimeCurveAffine;

use super::PointFault;

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

/// Why bytes are no proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// Too short or too long.
    #[error("a proof has {expected} bytes, these are {found}")]
    Length {
        /// Bytes of a proof.
        expected: usize,
        /// Bytes there are.
        found: usize,
    },
    /// An element that may not be in a proof.
    #[error("element {element} of the proof {fault}")]
    Point {
        /// `A`, `B` or `C`.
        element: char,
        /// What is wrong.
        fault: PointFault,
    },
}

impl Proof {
    /// Length of a proof.
    pub const BYTES: usize = 2 * G1_BYTES + G2_BYTES;

    /// Encodes A, B, C, each compressed.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (a, rest) = bytes.split_at_mut(G1_BYTES);
        let (b, c) = rest.split_at_mut(G2_BYTES);
        a.copy_from_slice(&self.a.to_compressed());
        b.copy_from_slice(&self.b.to_compressed());
        c.copy_from_slice(&self.c.to_compressed());
        bytes
    }

    /// Decodes a proof: its only encoding, points of the subgroup, none of them the identity.
    ///
    /// # Errors
    /// [`ProofError`], by the first fault found.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ProofError> {
        let length = ProofError::Length {
            expected: Self::BYTES,
            found: bytes.len(),
        };
        let bytes: &[u8; Self::BYTES] = bytes.try_into().map_err(|_| length)?;
        let (a, rest) = bytes.split_first_chunk::<G1_BYTES>().ok_or(length)?;
        let (b, rest) = rest.split_first_chunk::<G2_BYTES>().ok_or(length)?;
        let (c, _) = rest.split_first_chunk::<G1_BYTES>().ok_or(length)?;
        let encoding = |element| ProofError::Point {
            element,
            fault: PointFault::Encoding,
        };
        let g1 = |bytes| Option::from(G1Affine::from_compressed_unchecked(bytes));
        let proof = Self {
            a: g1(a).ok_or(encoding('A'))?,
            b: Option::from(G2Affine::from_compressed_unchecked(b)).ok_or(encoding('B'))?,
            c: g1(c).ok_or(encoding('C'))?,
        };
        proof.check_points()?;
        Ok(proof)
    }

    /// Checks that every element is on the curve, in the subgroup, and not the identity.
    pub(super) fn check_points(&self) -> Result<(), ProofError> {
        let elements = [
            (
                'A',
                self.a.is_identity(),
                self.a.is_on_curve(),
                self.a.is_torsion_free(),
            ),
            (
                'B',
                self.b.is_identity(),
                self.b.is_on_curve(),
                self.b.is_torsion_free(),
            ),
            (
                'C',
                self.c.is_identity(),
                self.c.is_on_curve(),
                self.c.is_torsion_free(),
            ),
        ];
        for (element, is_identity, is_on_curve, is_in_subgroup) in elements {
            let fault = if is_identity.into() {
                PointFault::Identity
            } else if !bool::from(is_on_curve) {
                PointFault::Encoding
            } else if !bool::from(is_in_subgroup) {
                PointFault::Subgroup
            } else {
                continue;
            };
            return Err(ProofError::Point { element, fault });
        }
        Ok(())
    }
}

const G1_BYTES: usize = G1Affine::compressed_size();
const G2_BYTES: usize = G2Affine::compressed_size();

#[cfg(test)]
mod tests;
