//! A chain of x ← x² + 1: for load tests and dense witnesses.
//!
//! **What is proven**, per partition: from the first public input, a fixed number of steps of x ← x² + 1 leads to the
//! second. **What the job adds**: the finish takes the proofs in order, each starting where the one before ended, the
//! first at the input's start. The number of steps is a property of the shape: each is a program of its own.

use std::fmt;

use bellperson::{Circuit, ConstraintSystem, SynthesisError};
use ff::Field;
use proofmill_shared::groth16::{Scalar, scalar_to_be};
use proofmill_shared::protocol::CircuitId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::program::{expect_proofs, parse_json};
use super::scalar_text::scalar_from_text;
use super::{CircuitError, CircuitProgram, PARTITIONS_MAX};

/// Most steps of one job: they are taken once when its input is read, and these take some seconds.
const STEPS_MAX: u64 = 1 << 28;

/// Largest input in bytes: a start and two numbers.
const INPUT_BYTES_MAX: usize = 4096;

/// What an input looks like.
const INPUT_FORMAT: &str = r#"JSON {"start": number or text (decimal or 0x…), "partitions": number} with partitions 1 unless given, or "length" (all steps) in their place"#;

/// The program: chains whose partitions have one number of steps.
#[derive(Debug, Clone)]
pub struct Chain {
    name: &'static str,
    steps: u32,
}

/// A checked input.
#[derive(Clone)]
pub struct ChainInput {
    /// Start of each partition, then the end of the last.
    ends: Vec<Scalar>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawInput {
    start: Value,
    partitions: Option<u32>,
    length: Option<u64>,
}

/// One partition: a row x · x = y − 1 a step.
#[derive(Debug, Clone)]
pub struct ChainCircuit {
    steps: u32,
    start: Option<Scalar>,
}

impl fmt::Debug for ChainInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainInput")
            .field("partitions", &self.partitions())
            .finish_non_exhaustive()
    }
}

impl Chain {
    /// Chains of `steps` steps a partition, at least 1, under a name that stands for the number.
    #[must_use]
    pub const fn named(name: &'static str, steps: u32) -> Self {
        Self { name, steps }
    }

    fn partitions_of(&self, raw: &RawInput) -> Result<u32, CircuitError> {
        let steps = u64::from(self.steps);
        let by_length = match raw.length {
            Some(length) if length % steps != 0 => {
                return Err(CircuitError::malformed(format!(
                    "length {length} is no multiple of the {steps} steps that a partition of this circuit has"
                )));
            }
            length => length.map(|length| length / steps),
        };
        let partitions = match (raw.partitions.map(u64::from), by_length) {
            (Some(partitions), Some(by_length)) if partitions != by_length => {
                return Err(CircuitError::malformed(format!(
                    "length makes {by_length} partitions of {steps} steps, not {partitions}: leave one of the two out"
                )));
            }
            (partitions, by_length) => partitions.or(by_length).unwrap_or(1),
        };
        let most = u64::from(PARTITIONS_MAX).min((STEPS_MAX / steps).max(1));
        if !(1..=most).contains(&partitions) {
            return Err(CircuitError::malformed(format!(
                "{partitions} partitions: this circuit takes 1 to {most}"
            )));
        }
        Ok(u32::try_from(partitions).unwrap_or(PARTITIONS_MAX))
    }

    fn walk(&self, start: Scalar) -> Scalar {
        (0..self.steps).fold(start, |x, _| step(x))
    }
}

impl ChainInput {
    fn partitions(&self) -> usize {
        self.ends.len() - 1
    }

    /// Start and end of a partition.
    fn partition(&self, index: u32) -> Result<[Scalar; 2], CircuitError> {
        let index = index as usize;
        match self.ends.get(index..).and_then(<[Scalar]>::first_chunk) {
            Some(ends) => Ok(*ends),
            None => Err(CircuitError::Inconsistent {
                reason: format!("there is no partition {index}"),
            }),
        }
    }
}

fn step(x: Scalar) -> Scalar {
    x.square() + Scalar::ONE
}

fn read_start(start: &Value) -> Result<Scalar, CircuitError> {
    let text = match start {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return Err(CircuitError::malformed("start must be a number or a text")),
    };
    scalar_from_text(&text).map_err(|error| CircuitError::malformed(format!("start {error}")))
}

impl CircuitProgram for Chain {
    type Input = ChainInput;
    type Circuit = ChainCircuit;

    fn id(&self) -> CircuitId {
        CircuitId::new(self.name, 1).expect("a built-in name is legal")
    }

    fn statement(&self) -> String {
        format!(
            "{} steps of x <- x^2 + 1 lead from the first public input to the second",
            self.steps
        )
    }

    fn input_format(&self) -> String {
        INPUT_FORMAT.to_owned()
    }

    fn parse(&self, raw: &[u8]) -> Result<ChainInput, CircuitError> {
        if raw.len() > INPUT_BYTES_MAX {
            return Err(CircuitError::InputTooLarge {
                bytes: raw.len(),
                limit: INPUT_BYTES_MAX,
            });
        }
        let raw: RawInput = parse_json(raw, INPUT_FORMAT)?;
        let partitions = self.partitions_of(&raw)? as usize;
        let start = read_start(&raw.start)?;
        let ends = std::iter::successors(Some(start), |start| Some(self.walk(*start)));
        Ok(ChainInput {
            ends: ends.take(partitions + 1).collect(),
        })
    }

    fn partition_count(&self, input: &ChainInput) -> u32 {
        u32::try_from(input.partitions()).unwrap_or(PARTITIONS_MAX)
    }

    fn summary(&self, input: &ChainInput) -> String {
        let partitions = input.partitions();
        format!(
            "chain of {} steps in {partitions} partitions",
            u64::from(self.steps) * partitions as u64
        )
    }

    fn blank(&self) -> ChainCircuit {
        ChainCircuit {
            steps: self.steps,
            start: None,
        }
    }

    fn circuit(&self, input: &ChainInput, partition: u32) -> Result<ChainCircuit, CircuitError> {
        let [start, _] = input.partition(partition)?;
        Ok(ChainCircuit {
            steps: self.steps,
            start: Some(start),
        })
    }

    fn public_inputs(
        &self,
        input: &ChainInput,
        partition: u32,
    ) -> Result<Vec<Scalar>, CircuitError> {
        Ok(input.partition(partition)?.to_vec())
    }

    fn finish(&self, input: &ChainInput, proofs: &[Vec<Scalar>]) -> Result<Value, CircuitError> {
        expect_proofs(proofs.len(), self.partition_count(input))?;
        let start = input.ends[0];
        let mut reached = start;
        for (partition, proof) in proofs.iter().enumerate() {
            match proof[..] {
                [from, to] if from == reached => reached = to,
                _ => {
                    return Err(CircuitError::OutputMismatch {
                        reason: format!(
                            "proof {partition} does not go on where the one before ended"
                        ),
                    });
                }
            }
        }
        if Some(&reached) != input.ends.last() {
            return Err(CircuitError::OutputMismatch {
                reason: "the chained end is not the input's".to_owned(),
            });
        }
        Ok(json!({
            "start": hex::encode(scalar_to_be(&start)),
            "end": hex::encode(scalar_to_be(&reached)),
            "steps": u64::from(self.steps) * proofs.len() as u64,
        }))
    }
}

impl Circuit<Scalar> for ChainCircuit {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let missing = || SynthesisError::AssignmentMissing;
        let mut value = self.start;
        let mut x = cs.alloc_input(|| "start", || value.ok_or_else(missing))?;
        for taken in 1..=self.steps {
            value = value.map(step);
            let next = if taken == self.steps {
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
mod tests;
