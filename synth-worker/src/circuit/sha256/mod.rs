//! Knowledge of a file by its SHA-256.
//!
//! **What is proven**, per partition, for public (before, after, count): the prover knows `count` blocks of 64 bytes that
//! take SHA-256's compression function from the state `before` to the state `after`. Blocks past `count` are switched off
//! in-circuit: the state passes through them.
//!
//! **What the job adds**: the finish chains the partitions from the standard's initial state, each starting where the one
//! before ended, every one but the last with all its blocks, and accepts only the digest that the file itself has. So
//! the proofs of a job say: the prover knows a message of that many blocks, padding included, whose digest is this one.
//! That the padding is well formed is not proven in-circuit: whoever checks only the proofs knows the digest of some
//! sequence of whole blocks, which for a collision-resistant hash is the padded file's.
//!
//! *Layout*: `circuit` (the constraints), `message` (padding, blocks and states outside the circuit).

mod circuit;
mod message;

use proofmill_shared::groth16::Scalar;
use proofmill_shared::protocol::CircuitId;
use serde_json::{Value, json};

pub use self::circuit::Sha256Circuit;
pub use self::message::Sha256Input;
use self::message::{INITIAL_STATE, State, digest_of};
use super::{CircuitError, CircuitProgram};

/// Largest file in bytes: its states are held while it is proved, and every 128 bytes are a proof.
pub const FILE_BYTES_MAX: usize = 64 << 20;

/// Blocks per partition of the program named `sha256`.
const DEFAULT_BLOCKS: usize = 2;

/// The program: files by groups of blocks.
#[derive(Debug, Clone)]
pub struct Sha256 {
    blocks: usize,
}

impl Sha256 {
    /// Groups of `blocks` blocks of 64 bytes; two blocks fill a domain of 2^16. Two is the program `sha256`, any other
    /// number n is `sha256-bn`.
    #[must_use]
    pub const fn with_blocks(blocks: usize) -> Self {
        Self { blocks }
    }
}

/// Public inputs of a partition: both states as two numbers of 128 bits each, then the count.
fn public_inputs(before: &State, after: &State, count: usize) -> Vec<Scalar> {
    let halves = [&before[..4], &before[4..], &after[..4], &after[4..]];
    let mut inputs: Vec<Scalar> = halves.into_iter().map(pack).collect();
    inputs.push(Scalar::from(count as u64));
    inputs
}

/// Four words, the first most significant.
fn pack(words: &[u32]) -> Scalar {
    let shift = Scalar::from(1 << 32);
    words.iter().fold(Scalar::from(0), |sum, word| {
        sum * shift + Scalar::from(u64::from(*word))
    })
}

impl CircuitProgram for Sha256 {
    type Input = Sha256Input;
    type Circuit = Sha256Circuit;

    fn id(&self) -> CircuitId {
        let name = if self.blocks == DEFAULT_BLOCKS {
            "sha256".to_owned()
        } else {
            format!("sha256-b{}", self.blocks)
        };
        CircuitId::new(&name, 1).expect("built-in names are legal")
    }

    fn statement(&self) -> String {
        format!(
            "the prover knows up to {} blocks that take SHA-256 from the first public state to the second; a job's \
             partitions chain from the initial state to the file's digest",
            self.blocks
        )
    }

    fn input_format(&self) -> String {
        format!("the bytes of a file, at most {FILE_BYTES_MAX}")
    }

    fn parse(&self, raw: &[u8]) -> Result<Sha256Input, CircuitError> {
        if raw.len() > FILE_BYTES_MAX {
            return Err(CircuitError::InputTooLarge {
                bytes: raw.len(),
                limit: FILE_BYTES_MAX,
            });
        }
        Ok(Sha256Input::new(raw, self.blocks))
    }

    fn partition_count(&self, input: &Sha256Input) -> u32 {
        u32::try_from(input.group_count()).unwrap_or(u32::MAX)
    }

    fn summary(&self, input: &Sha256Input) -> String {
        format!(
            "file of {} bytes in {} partitions of {} blocks",
            input.file_len(),
            input.group_count(),
            self.blocks
        )
    }

    fn blank(&self) -> Sha256Circuit {
        Sha256Circuit::blank(self.blocks)
    }

    fn circuit(&self, input: &Sha256Input, partition: u32) -> Result<Sha256Circuit, CircuitError> {
        let group = input.group(partition)?;
        Ok(Sha256Circuit::new(self.blocks, group.before, group.blocks))
    }

    fn public_inputs(
        &self,
        input: &Sha256Input,
        partition: u32,
    ) -> Result<Vec<Scalar>, CircuitError> {
        let group = input.group(partition)?;
        Ok(public_inputs(
            &group.before,
            &group.after,
            group.blocks.len(),
        ))
    }

    fn finish(&self, input: &Sha256Input, proofs: &[Vec<Scalar>]) -> Result<Value, CircuitError> {
        let mismatch = |reason: String| CircuitError::OutputMismatch { reason };
        if proofs.len() != input.group_count() {
            return Err(mismatch(format!(
                "{} proofs for {} partitions",
                proofs.len(),
                input.group_count()
            )));
        }
        let mut state = [pack(&INITIAL_STATE[..4]), pack(&INITIAL_STATE[4..])];
        for (partition, proof) in proofs.iter().enumerate() {
            let [before_high, before_low, after_high, after_low, count] = proof[..] else {
                return Err(mismatch(format!(
                    "partition {partition} has {} public inputs, not 5",
                    proof.len()
                )));
            };
            if state != [before_high, before_low] {
                return Err(mismatch(format!(
                    "partition {partition} does not go on where the one before ended"
                )));
            }
            let expected = input.blocks_in(partition);
            if count != Scalar::from(expected as u64) {
                return Err(mismatch(format!(
                    "partition {partition} does not have {expected} blocks switched on"
                )));
            }
            state = [after_high, after_low];
        }
        let digest =
            digest_of(&state).ok_or_else(|| mismatch("the last state is no state".into()))?;
        if digest != *input.digest() {
            return Err(mismatch("the chained digest is not the file's".into()));
        }
        Ok(
            json!({ "sha256": hex::encode(digest), "bytes": input.file_len(), "blocks": input.block_count() }),
        )
    }
}

#[cfg(test)]
mod tests;
