//! Scalars as people write them: decimal or hex, never reduced.

use proofmill_shared::groth16::{Scalar, scalar_from_be};

/// Hex digits of the largest scalar.
const HEX_DIGITS_MAX: usize = 64;

/// Longest text that is looked at: the largest scalar has 77 decimal digits, and some leading zeros are harmless.
const TEXT_LEN_MAX: usize = 128;

/// Text that is no scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScalarTextError {
    /// Not a whole number.
    #[error("must be a whole number: decimal digits, or 0x and hex digits")]
    NotANumber,
    /// At or above the modulus.
    #[error("is not below the modulus of the scalar field")]
    TooLarge,
}

/// Reads decimal digits, or `0x` and hex digits.
pub(super) fn scalar_from_text(text: &str) -> Result<Scalar, ScalarTextError> {
    if text.len() > TEXT_LEN_MAX {
        return Err(ScalarTextError::NotANumber);
    }
    let bytes = match text.strip_prefix("0x") {
        Some(digits) => from_hex(digits)?,
        None => from_decimal(text)?,
    };
    scalar_from_be(&bytes).map_err(|_| ScalarTextError::TooLarge)
}

fn from_hex(digits: &str) -> Result<[u8; 32], ScalarTextError> {
    if digits.is_empty() {
        return Err(ScalarTextError::NotANumber);
    }
    let significant = digits.trim_start_matches('0');
    if significant.len() > HEX_DIGITS_MAX {
        return Err(ScalarTextError::TooLarge);
    }
    let mut bytes = [0; 32];
    hex::decode_to_slice(format!("{significant:0>HEX_DIGITS_MAX$}"), &mut bytes)
        .map_err(|_| ScalarTextError::NotANumber)?;
    Ok(bytes)
}

fn from_decimal(digits: &str) -> Result<[u8; 32], ScalarTextError> {
    if digits.is_empty() {
        return Err(ScalarTextError::NotANumber);
    }
    let mut bytes = [0u8; 32];
    for digit in digits.chars() {
        let mut carry = digit.to_digit(10).ok_or(ScalarTextError::NotANumber)?;
        for byte in bytes.iter_mut().rev() {
            let [low, rest @ ..] = (u32::from(*byte) * 10 + carry).to_le_bytes();
            *byte = low;
            carry = u32::from(rest[0]);
        }
        if carry != 0 {
            return Err(ScalarTextError::TooLarge);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use ff::Field;

    use super::*;

    const MODULUS: &str =
        "52435875175126190479447740508185965837690552500527637822603658699938581184513";
    const LARGEST: &str =
        "52435875175126190479447740508185965837690552500527637822603658699938581184512";

    #[test]
    fn decimal_and_hex_give_the_same_scalars() {
        for text in ["258", "000258", "0x102", "0x0102"] {
            assert_eq!(scalar_from_text(text), Ok(Scalar::from(258)), "{text}");
        }
        assert_eq!(scalar_from_text("0"), Ok(Scalar::ZERO));
        assert_eq!(scalar_from_text(LARGEST), Ok(-Scalar::ONE));
        let hex = format!("0x{}", hex::encode((-Scalar::ONE).to_bytes_be()));
        assert_eq!(scalar_from_text(&hex), Ok(-Scalar::ONE));
    }

    #[test]
    fn nothing_is_reduced() {
        let all_ones = format!("0x{}", "f".repeat(64));
        let longer = format!("0x1{}", "0".repeat(64));
        let many_digits = "9".repeat(100);
        for text in [MODULUS, &all_ones, &longer, &many_digits] {
            assert_eq!(
                scalar_from_text(text),
                Err(ScalarTextError::TooLarge),
                "{text}"
            );
        }
    }

    #[test]
    fn other_text_is_no_number() {
        let endless = "1".repeat(TEXT_LEN_MAX + 1);
        for text in ["", "0x", "-1", "+1", "1e3", "1.0", "0xg", "١", &endless] {
            assert_eq!(
                scalar_from_text(text),
                Err(ScalarTextError::NotANumber),
                "{text}"
            );
        }
    }
}
