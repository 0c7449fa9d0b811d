//! A chain of x ← x² + 1: for load tests and dense witnesses.
//!
//! **What is proven**, per partition: starting from the public value, `length` steps of x ← x² + 1 lead to the public end.
//! Partition i starts where partition i − 1 ended, which the finish checks.

use bellperson::{Circuit, ConstraintSystem, SynthesisError};
use ff::{Field, PrimeField};
use proofmill_shared::groth16::{Scalar, scalar_from_be, scalar_to_be};
use proofmill_shared::protocol::CircuitId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CircuitError, CircuitProgram};

/// Most partitions of one job: each is a proof of its own.
const PARTITIONS_MAX: u32 = 1024;

/// Largest input in bytes: a start and a number.
const INPUT_BYTES_MAX: usize = 4096;

/// The program: chains of one length.
#[derive(Debug, Clone)]
pub struct Chain {
    name: &'static str,
    length: usize,
}

/// A checked input.
#[derive(Clone)]
pub struct ChainInput {
    /// Start of each partition, then the end of the last.
    ends: Vec<Scalar>,
}

impl std::fmt::Debug for ChainInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChainInput")
            .field("partitions", &(self.ends.len() - 1))
            .finish()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawInput {
    start: Value,
    #[serde(default = "one")]
    partitions: u32,
}

const fn one() -> u32 {
    1
}

impl Chain {
    /// Chains of `length` steps under a name; the name stands for the length, which is a property of the shape.
    #[must_use]
    pub const fn named(name: &'static str, length: usize) -> Self {
        Self { name, length }
    }

    fn end_of(&self, start: Scalar) -> Scalar {
        (0..self.length).fold(start, |x, _| x.square() + Scalar::ONE)
    }
}

/// Reads a scalar from a JSON number, a decimal text or a `0x` hex text; nothing is reduced.
fn read_scalar(value: &Value) -> Result<Scalar, CircuitError> {
    let malformed = || {
        CircuitError::malformed(
            "start must be a whole number, as a number or as decimal or 0x text",
        )
    };
    let text = match value {
        Value::Number(number) => return number.as_u64().map(Scalar::from).ok_or_else(malformed),
        Value::String(text) => text,
        _ => return Err(malformed()),
    };
    let too_large =
        || CircuitError::malformed("start is not below the modulus of the scalar field");
    if let Some(digits) = text.strip_prefix("0x") {
        if digits.is_empty() || digits.len() > 64 {
            return Err(malformed());
        }
        let mut bytes = [0u8; 32];
        hex::decode_to_slice(format!("{digits:0>64}"), &mut bytes).map_err(|_| malformed())?;
        return scalar_from_be(&bytes).map_err(|_| too_large());
    }
    // `from_str_vartime` refuses what is not decimal, and reduces: a canonical number reads back as itself.
    let digits = text.trim_start_matches('0');
    if text.is_empty() || text.len() > 80 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(malformed());
    }
    let scalar = Scalar::from_str_vartime(if digits.is_empty() { "0" } else { digits })
        .ok_or_else(malformed)?;
    if decimal(&scalar) == if digits.is_empty() { "0" } else { digits } {
        Ok(scalar)
    } else {
        Err(too_large())
    }
}

/// Decimal digits of a scalar.
fn decimal(scalar: &Scalar) -> String {
    let mut limbs = scalar_to_be(scalar);
    let mut digits = Vec::new();
    while limbs.iter().any(|byte| *byte != 0) {
        let mut remainder = 0u32;
        for byte in &mut limbs {
            let value = remainder << 8 | u32::from(*byte);
            *byte = u8::try_from(value / 10).unwrap_or_default();
            remainder = value % 10;
        }
        digits.push(char::from_digit(remainder, 10).unwrap_or('0'));
    }
    if digits.is_empty() {
        "0".to_owned()
    } else {
        digits.into_iter().rev().collect()
    }
}

impl CircuitProgram for Chain {
    type Input = ChainInput;
    type Circuit = ChainCircuit;

    fn id(&self) -> CircuitId {
        CircuitId::new(self.name, 1).expect("built-in names are legal")
    }

    fn statement(&self) -> String {
        format!(
            "{} steps of x <- x^2 + 1 lead from the first public input to the second",
            self.length
        )
    }

    fn input_format(&self) -> String {
        r#"JSON {"start": number or text, "partitions": number}"#.to_owned()
    }

    fn parse(&self, raw: &[u8]) -> Result<ChainInput, CircuitError> {
        if raw.len() > INPUT_BYTES_MAX {
            return Err(CircuitError::InputTooLarge {
                bytes: raw.len(),
                limit: INPUT_BYTES_MAX,
            });
        }
        let read: RawInput = serde_json::from_slice(raw)
            .map_err(|error| CircuitError::malformed(error.to_string()))?;
        if read.partitions == 0 || read.partitions > PARTITIONS_MAX {
            return Err(CircuitError::malformed(format!(
                "partitions must be 1 to {PARTITIONS_MAX}"
            )));
        }
        let start = read_scalar(&read.start)?;
        let ends = std::iter::successors(Some(start), |start| Some(self.end_of(*start)));
        Ok(ChainInput {
            ends: ends.take(read.partitions as usize + 1).collect(),
        })
    }

    fn partition_count(&self, input: &ChainInput) -> u32 {
        u32::try_from(input.ends.len() - 1).unwrap_or(PARTITIONS_MAX)
    }

    fn summary(&self, input: &ChainInput) -> String {
        format!(
            "chain of {} steps in {} partitions",
            self.length,
            input.ends.len() - 1
        )
    }

    fn blank(&self) -> ChainCircuit {
        ChainCircuit {
            length: self.length,
            start: None,
        }
    }

    fn circuit(&self, input: &ChainInput, partition: u32) -> Result<ChainCircuit, CircuitError> {
        let [start, _] = pair(input, partition)?;
        Ok(ChainCircuit {
            length: self.length,
            start: Some(start),
        })
    }

    fn public_inputs(
        &self,
        input: &ChainInput,
        partition: u32,
    ) -> Result<Vec<Scalar>, CircuitError> {
        Ok(pair(input, partition)?.to_vec())
    }

    fn finish(&self, input: &ChainInput, proofs: &[Vec<Scalar>]) -> Result<Value, CircuitError> {
        let mismatch = |partition| CircuitError::OutputMismatch {
            reason: format!("partition {partition} does not go on where the one before ended"),
        };
        if proofs.len() + 1 != input.ends.len() {
            return Err(mismatch(proofs.len()));
        }
        for (partition, (proof, ends)) in proofs.iter().zip(input.ends.windows(2)).enumerate() {
            if proof != ends {
                return Err(mismatch(partition));
            }
        }
        let hex_of =
            |scalar: Option<&Scalar>| scalar.map(|scalar| hex::encode(scalar_to_be(scalar)));
        Ok(json!({
            "start": hex_of(input.ends.first()),
            "end": hex_of(input.ends.last()),
            "steps": self.length * proofs.len(),
        }))
    }
}

fn pair(input: &ChainInput, partition: u32) -> Result<[Scalar; 2], CircuitError> {
    let index = partition as usize;
    match input.ends.get(index..index + 2) {
        Some([start, end]) => Ok([*start, *end]),
        _ => Err(CircuitError::Inconsistent {
            reason: format!("there is no partition {partition}"),
        }),
    }
}

/// One partition: `length` rows x · x = y − 1.
#[derive(Debug, Clone)]
pub struct ChainCircuit {
    length: usize,
    start: Option<Scalar>,
}

impl Circuit<Scalar> for ChainCircuit {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let missing = || SynthesisError::AssignmentMissing;
        let mut value = self.start;
        let mut x = cs.alloc_input(|| "start", || value.ok_or_else(missing))?;
        for step in 0..self.length {
            value = value.map(|x| x.square() + Scalar::ONE);
            let next = if step + 1 == self.length {
                cs.alloc_input(|| "end", || value.ok_or_else(missing))?
            } else {
                cs.alloc(|| "x", || value.ok_or_else(missing))?
            };
            cs.enforce(
                || "step",
                |lc| lc + x,
                |lc| lc + x,
                |lc| lc + next - CS::one(),
            );
            x = next;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::RegisteredCircuit;

    const SHORT: Chain = Chain::named("chain-short", 5);

    #[test]
    fn partitions_join_and_satisfy_their_shape() {
        let circuit = RegisteredCircuit::new(SHORT);
        let input = circuit.parse(br#"{"start": 2, "partitions": 3}"#).unwrap();
        assert_eq!(circuit.plan(&input).unwrap().partition_count, 3);
        let shape = circuit.shape().unwrap();
        let proofs: Vec<Vec<Scalar>> = (0..3)
            .map(|partition| {
                let assignment = circuit.witness(&input, partition).unwrap();
                assert_eq!(shape.first_unsatisfied(&assignment), Ok(None));
                assignment.input[1..].to_vec()
            })
            .collect();
        assert_eq!(circuit.finish(&input, &proofs).unwrap()["steps"], 15);
        let swapped = [proofs[1].clone(), proofs[0].clone(), proofs[2].clone()];
        assert!(matches!(
            circuit.finish(&input, &swapped),
            Err(CircuitError::OutputMismatch { .. })
        ));
        assert!(matches!(
            circuit.finish(&input, &proofs[..2]),
            Err(CircuitError::OutputMismatch { .. })
        ));
    }

    #[test]
    fn a_start_reads_in_three_forms_and_is_never_reduced() {
        let modulus =
            "52435875175126190479447740508185965837690552500527637822603658699938581184513";
        let below = "52435875175126190479447740508185965837690552500527637822603658699938581184512";
        assert_eq!(read_scalar(&json!(7)), Ok(Scalar::from(7)));
        assert_eq!(read_scalar(&json!("007")), Ok(Scalar::from(7)));
        assert_eq!(read_scalar(&json!("0x07")), Ok(Scalar::from(7)));
        assert_eq!(read_scalar(&json!("0")), Ok(Scalar::ZERO));
        assert_eq!(read_scalar(&json!(below)), Ok(-Scalar::ONE));
        for bad in [
            json!(modulus),
            json!("0x".to_owned() + &"f".repeat(64)),
            json!(-1),
            json!(""),
            json!("1e3"),
            json!([]),
        ] {
            assert!(
                matches!(read_scalar(&bad), Err(CircuitError::MalformedInput { .. })),
                "{bad}"
            );
        }
    }

    #[test]
    fn malformed_inputs_are_refused() {
        for bad in [
            "",
            "{",
            "[]",
            r#"{"start": 1, "partitions": 0}"#,
            r#"{"start": 1, "partitions": 9999}"#,
            r#"{"start": 1, "x": 2}"#,
        ] {
            let refused = SHORT.parse(bad.as_bytes()).unwrap_err();
            assert!(
                matches!(refused, CircuitError::MalformedInput { .. }),
                "{bad}"
            );
        }
    }
}
