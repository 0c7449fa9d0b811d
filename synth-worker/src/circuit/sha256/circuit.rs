//! The constraints of one group of blocks.
//!
//! Soundness, in the order of the constraints:
//! 1. `before`: eight words of boolean bits, packed into two public numbers; 128 bits a number, so packing is injective.
//! 2. Each block has a boolean switch; a switch is on only if the one before is (`next · (1 − previous) = 0`), and the
//!    switches sum to the public count. So the count is 0 to G, and exactly the first `count` blocks are on.
//! 3. Each block's 512 bits are boolean and free: the prover's knowledge. The state after a block is, bit by bit, the
//!    compressed one where its switch is on, and the state before where it is off.
//! 4. `after`: the last state, packed as `before`.

use bellperson::gadgets::boolean::{AllocatedBit, Boolean};
use bellperson::gadgets::sha256::sha256_compression_function;
use bellperson::gadgets::uint32::UInt32;
use bellperson::{Circuit, ConstraintSystem, LinearCombination, SynthesisError};
use ff::Field;
use proofmill_shared::groth16::Scalar;

use super::message::{BLOCK_LEN, State};

/// One group: up to `group_len` blocks from a state.
#[derive(Clone)]
pub struct Sha256Circuit {
    group_len: usize,
    /// `None` while the shape is recorded.
    values: Option<Values>,
}

#[derive(Clone)]
struct Values {
    before: State,
    blocks: Vec<[u8; BLOCK_LEN]>,
}

impl std::fmt::Debug for Sha256Circuit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sha256Circuit")
            .field("group_len", &self.group_len)
            .finish_non_exhaustive()
    }
}

impl Sha256Circuit {
    pub(super) const fn blank(group_len: usize) -> Self {
        Self {
            group_len,
            values: None,
        }
    }

    pub(super) fn new(group_len: usize, before: State, blocks: &[[u8; BLOCK_LEN]]) -> Self {
        Self {
            group_len,
            values: Some(Values {
                before,
                blocks: blocks.to_vec(),
            }),
        }
    }

    /// Bit `bit` of block `block`, most significant first; zero in blocks that are switched off.
    fn message_bit(&self, block: usize, bit: usize) -> Option<bool> {
        let values = self.values.as_ref()?;
        let byte = values.blocks.get(block).map_or(0, |block| block[bit / 8]);
        Some(byte >> (7 - bit % 8) & 1 == 1)
    }

    fn is_on(&self, block: usize) -> Option<bool> {
        self.values
            .as_ref()
            .map(|values| block < values.blocks.len())
    }
}

impl Circuit<Scalar> for Sha256Circuit {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let mut state = Vec::with_capacity(8);
        for word in 0..8 {
            let value = self.values.as_ref().map(|values| values.before[word]);
            state.push(UInt32::alloc(
                cs.namespace(|| format!("before {word}")),
                value,
            )?);
        }
        expose(cs, "before high", &state[..4])?;
        expose(cs, "before low", &state[4..])?;
        let mut switches: Vec<AllocatedBit> = Vec::with_capacity(self.group_len);
        for block in 0..self.group_len {
            let cs = &mut cs.namespace(|| format!("block {block}"));
            let is_on = AllocatedBit::alloc(cs.namespace(|| "switch"), self.is_on(block))?;
            if let Some(previous) = switches.last() {
                cs.enforce(
                    || "switches are on from the first",
                    |lc| lc + is_on.get_variable(),
                    |lc| lc + CS::one() - previous.get_variable(),
                    |lc| lc,
                );
            }
            let mut message = Vec::with_capacity(8 * BLOCK_LEN);
            for bit in 0..8 * BLOCK_LEN {
                let value = self.message_bit(block, bit);
                let bit = AllocatedBit::alloc(cs.namespace(|| format!("message {bit}")), value)?;
                message.push(Boolean::from(bit));
            }
            let compressed =
                sha256_compression_function(cs.namespace(|| "compression"), &message, &state)?;
            let select = UInt32::from_bits(&vec![Boolean::from(is_on.clone()); 32]);
            for (word, compressed) in compressed.iter().enumerate() {
                let cs = cs.namespace(|| format!("after {word}"));
                // ch(x, y, z) is y where x is one, and z where it is zero.
                state[word] = UInt32::sha256_ch(cs, &select, compressed, &state[word])?;
            }
            switches.push(is_on);
        }
        expose(cs, "after high", &state[..4])?;
        expose(cs, "after low", &state[4..])?;
        expose_count(cs, &switches)
    }
}

/// Makes four words a public number, the first most significant.
fn expose<CS: ConstraintSystem<Scalar>>(
    cs: &mut CS,
    name: &str,
    words: &[UInt32],
) -> Result<(), SynthesisError> {
    let bits: Vec<Boolean> = words
        .iter()
        .flat_map(|word| word.clone().into_bits_be())
        .collect();
    let mut value = Some(Scalar::ZERO);
    for bit in &bits {
        value = value
            .zip(bit.get_value())
            .map(|(sum, bit)| sum.double() + Scalar::from(u64::from(bit)));
    }
    let number = cs.alloc_input(
        || name.to_owned(),
        || value.ok_or(SynthesisError::AssignmentMissing),
    )?;
    let mut packed = LinearCombination::zero();
    let mut weight = Scalar::ONE;
    for bit in bits.iter().rev() {
        packed = packed + &bit.lc(CS::one(), weight);
        weight = weight.double();
    }
    cs.enforce(
        || format!("{name} packed"),
        |lc| lc + &packed,
        |lc| lc + CS::one(),
        |lc| lc + number,
    );
    Ok(())
}

/// Makes the number of switches that are on public.
fn expose_count<CS: ConstraintSystem<Scalar>>(
    cs: &mut CS,
    switches: &[AllocatedBit],
) -> Result<(), SynthesisError> {
    let mut value = Some(Scalar::ZERO);
    for switch in switches {
        value = value
            .zip(switch.get_value())
            .map(|(sum, is_on)| sum + Scalar::from(u64::from(is_on)));
    }
    let count = cs.alloc_input(
        || "count",
        || value.ok_or(SynthesisError::AssignmentMissing),
    )?;
    let sum = switches
        .iter()
        .fold(LinearCombination::zero(), |sum, switch| {
            sum + switch.get_variable()
        });
    cs.enforce(
        || "count is the sum",
        |lc| lc + &sum,
        |lc| lc + CS::one(),
        |lc| lc + count,
    );
    Ok(())
}
