//! Padding, blocks and states outside the circuit.

use std::fmt;

use proofmill_shared::groth16::{Scalar, scalar_to_be};
use sha2::{Digest, Sha256};

use super::CircuitError;

/// Bytes of one block.
pub(super) const BLOCK_LEN: usize = 64;

/// Eight words.
pub(super) type State = [u32; 8];

/// The standard's initial state (FIPS 180-4, 5.3.3).
pub(super) const INITIAL_STATE: State = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// A file, padded and cut into blocks, with the state before each group. Secret: `Debug` shows its length.
pub struct Sha256Input {
    file_len: usize,
    blocks: Vec<[u8; BLOCK_LEN]>,
    blocks_per_group: usize,
    /// State before each group, then after the last.
    states: Vec<State>,
    digest: [u8; 32],
}

/// What one partition proves.
pub(super) struct Group<'a> {
    pub(super) before: State,
    pub(super) after: State,
    pub(super) blocks: &'a [[u8; BLOCK_LEN]],
}

impl fmt::Debug for Sha256Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sha256Input")
            .field("file_len", &self.file_len)
            .finish_non_exhaustive()
    }
}

impl Sha256Input {
    pub(super) fn new(file: &[u8], blocks_per_group: usize) -> Self {
        let blocks = padded_blocks(file);
        let mut states = vec![INITIAL_STATE];
        let mut state = INITIAL_STATE;
        for group in blocks.chunks(blocks_per_group) {
            let group: Vec<_> = group.iter().map(|block| (*block).into()).collect();
            sha2::compress256(&mut state, &group);
            states.push(state);
        }
        Self {
            file_len: file.len(),
            blocks,
            blocks_per_group,
            states,
            digest: Sha256::digest(file).into(),
        }
    }

    pub(super) const fn file_len(&self) -> usize {
        self.file_len
    }

    pub(super) const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    pub(super) const fn block_count(&self) -> usize {
        self.blocks.len()
    }

    pub(super) const fn group_count(&self) -> usize {
        self.blocks.len().div_ceil(self.blocks_per_group)
    }

    /// Blocks that are switched on in a group: all, but for the last.
    pub(super) fn blocks_in(&self, group: usize) -> usize {
        self.blocks
            .len()
            .saturating_sub(group * self.blocks_per_group)
            .min(self.blocks_per_group)
    }

    pub(super) fn group(&self, index: u32) -> Result<Group<'_>, CircuitError> {
        let index = index as usize;
        let missing = || CircuitError::Inconsistent {
            reason: format!("there is no partition {index}"),
        };
        let blocks = self
            .blocks
            .chunks(self.blocks_per_group)
            .nth(index)
            .ok_or_else(missing)?;
        Ok(Group {
            before: self.states[index],
            after: self.states[index + 1],
            blocks,
        })
    }
}

/// The message with a one bit, zeros, and its length in bits (FIPS 180-4, 5.1.1).
fn padded_blocks(file: &[u8]) -> Vec<[u8; BLOCK_LEN]> {
    let mut message = file.to_vec();
    message.push(0x80);
    message.resize((message.len() + 8).next_multiple_of(BLOCK_LEN) - 8, 0);
    message.extend_from_slice(&(file.len() as u64 * 8).to_be_bytes());
    message.as_chunks::<BLOCK_LEN>().0.to_vec()
}

/// The digest that two packed halves of a state are; `None` if a half has more than 128 bits.
pub(super) fn digest_of(halves: &[Scalar; 2]) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    for (half, out) in halves.iter().zip(digest.chunks_mut(16)) {
        let bytes = scalar_to_be(half);
        if bytes[..16].iter().any(|byte| *byte != 0) {
            return None;
        }
        out.copy_from_slice(&bytes[16..]);
    }
    Some(digest)
}
