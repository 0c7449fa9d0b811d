//! Scalars as canonical big-endian bytes, as they travel in records and appear in hex.

use ff::Field;

use super::Scalar;
use crate::protocol::Digest;

/// Bytes that are no scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("value is not below the BLS12-381 scalar modulus 0x73eda753299d7d48…00000001")]
pub struct NotAScalar;

/// Encodes a scalar as 32 bytes, most significant first.
#[must_use]
pub fn scalar_to_be(scalar: &Scalar) -> [u8; 32] {
    scalar.to_bytes_be()
}

/// Decodes 32 bytes, most significant first.
///
/// # Errors
/// [`NotAScalar`] if the number is not below the modulus: it is never reduced.
pub fn scalar_from_be(bytes: &[u8; 32]) -> Result<Scalar, NotAScalar> {
    Option::from(Scalar::from_bytes_be(bytes)).ok_or(NotAScalar)
}

/// Writes public inputs as the 32-byte words that records carry, hex in text.
#[must_use]
pub fn public_inputs_to_words(public_inputs: &[Scalar]) -> Vec<Digest> {
    let word = |scalar: &Scalar| Digest(scalar_to_be(scalar));
    public_inputs.iter().map(word).collect()
}

/// Reads public inputs from the words that records carry.
///
/// # Errors
/// The index of the first word that is not below the modulus.
pub fn public_inputs_from_words(words: &[Digest]) -> Result<Vec<Scalar>, usize> {
    words
        .iter()
        .enumerate()
        .map(|(index, word)| scalar_from_be(&word.0).map_err(|NotAScalar| index))
        .collect()
}

/// Whether a scalar is zero. Not constant in time: witnesses are compared on the prover's own machines only.
pub(crate) fn is_zero(scalar: &Scalar) -> bool {
    scalar == &Scalar::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_reads_back_from_its_bytes() {
        let scalar = -Scalar::from(7);
        assert_eq!(scalar_from_be(&scalar_to_be(&scalar)), Ok(scalar));
        assert_eq!(scalar_to_be(&Scalar::from(0x0102))[30..], [1, 2]);
    }

    #[test]
    fn the_modulus_and_more_are_refused() {
        let mut modulus = scalar_to_be(&-Scalar::ONE);
        modulus[31] += 1;
        assert_eq!(scalar_from_be(&modulus), Err(NotAScalar));
        assert_eq!(scalar_from_be(&[0xff; 32]), Err(NotAScalar));
        let words = [Digest(scalar_to_be(&Scalar::ONE)), Digest(modulus)];
        assert_eq!(public_inputs_from_words(&words), Err(1));
    }

    #[test]
    fn public_inputs_read_back_from_their_words() {
        let inputs = vec![Scalar::from(5), -Scalar::ONE];
        assert_eq!(
            public_inputs_from_words(&public_inputs_to_words(&inputs)),
            Ok(inputs)
        );
    }
}
