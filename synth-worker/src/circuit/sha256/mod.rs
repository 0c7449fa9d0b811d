//! Knowledge of a file by its SHA-256.
//!
//! **What is proven**, per partition, for public (before, after, count): the prover knows `count` blocks of 64 bytes that
//! take SHA-256's compression function from the state `before` to the state `after`. Blocks past `count` are switched off
//! in-circuit: the state passes through them.
//!
//! **What the finish adds**: it takes the proofs in order, from the standard's initial state, each from where the one
//! before ended, each with as many blocks as the padded file has there, and accepts the end only if it is the digest of
//! the file. So a verifier who checks the proofs and this chain knows: the prover knew that number of blocks whose
//! chained compression is this digest.
//!
//! **What is not proven**: that the blocks are a file with its padding. The finish, which has the file, checks it; the
//! proofs alone do not show the file's length, and a prover free to choose the digest could have chained any blocks.
//!
//! *Layout*: `circuit` (the constraints), `message` (padding, blocks and states outside the circuit).

mod circuit;
mod message;

use proofmill_shared::groth16::Scalar;
use proofmill_shared::protocol::CircuitId;
use serde_json::{Value, json};

pub use self::circuit::Sha256Circuit;
pub use self::message::Sha256Input;
use self::message::{BLOCK_LEN, INITIAL_STATE, State, digest_of};
use super::program::expect_proofs;
use super::{CircuitError, CircuitProgram, PARTITIONS_MAX};

/// Largest file in bytes, whatever the group: it is held padded, with a state for each group, while it is proved. Small
/// groups reach the limit of [`PARTITIONS_MAX`] partitions sooner.
pub const FILE_BYTES_MAX: usize = 64 << 20;

/// Bytes of a padded message that are not the file's, at least: the one bit with its zeros, and the length.
const PADDING_BYTES_MIN: usize = 9;

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
    ///
    /// # Panics
    /// If `blocks` is 0: such groups would prove nothing.
    #[must_use]
    pub const fn with_blocks(blocks: usize) -> Self {
        assert!(blocks > 0, "a group has at least one block");
        Self { blocks }
    }

    /// Largest file that this group takes, in bytes.
    fn file_bytes_max(&self) -> usize {
        let group_bytes = self.blocks.saturating_mul(BLOCK_LEN);
        let by_partitions = group_bytes.saturating_mul(PARTITIONS_MAX as usize);
        by_partitions
            .saturating_sub(PADDING_BYTES_MIN)
            .min(FILE_BYTES_MAX)
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
        format!("the bytes of a file, at most {}", self.file_bytes_max())
    }

    fn parse(&self, raw: &[u8]) -> Result<Sha256Input, CircuitError> {
        let limit = self.file_bytes_max();
        if raw.len() > limit {
            return Err(CircuitError::InputTooLarge {
                bytes: raw.len(),
                limit,
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
        expect_proofs(proofs.len(), self.partition_count(input))?;
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
