//! Decoding a block straight into its place in the assignment.

use ff::Field;

use super::super::error::CodecError;
use super::super::reader::Reader;
use super::super::scalar;
use super::{EncodingMix, FRAME_BYTES, Layout, ONES, WIDE, WIDTHS, checksum, gaps};
use crate::groth16::Scalar;
use crate::protocol::Digest;

/// A block as it lies in a chunk.
#[derive(Clone, Copy)]
pub(in super::super) struct BlockFrame<'a> {
    flags: u16,
    checksum: u32,
    body: &'a [u8],
}

impl<'a> BlockFrame<'a> {
    /// Cuts the next block out of a chunk.
    pub(in super::super) fn read(reader: &mut Reader<'a>) -> Result<Self, CodecError> {
        let mut frame = Reader::new(reader.take(FRAME_BYTES)?, "block frame");
        let flags = frame.u16()?;
        let body_len = frame.u32()? as usize;
        Ok(Self {
            flags,
            checksum: frame.u32()?,
            body: reader.take(body_len)?,
        })
    }

    /// The encoding it says it has.
    pub(in super::super) fn mix(&self) -> EncodingMix {
        EncodingMix::of(self.flags)
    }
}

/// Why a block was refused, before its place in the assignment is known.
pub(in super::super) enum BlockFault {
    /// The checksum does not fit.
    Checksum,
    /// The body does not read.
    Malformed(&'static str),
    /// The scalar at this index is not below the modulus.
    NonCanonical(usize),
}

impl From<CodecError> for BlockFault {
    /// Within a block, a reader can only run out of bytes or have some left.
    fn from(error: CodecError) -> Self {
        match error {
            CodecError::TrailingBytes { .. } => Self::Malformed("its body is too long"),
            _ => Self::Malformed("its body is too short"),
        }
    }
}

/// Decodes a block into `target`, which holds as many scalars as the block; what stood there is overwritten.
pub(in super::super) fn decode(
    frame: &BlockFrame<'_>,
    header: &Digest,
    block: u32,
    target: &mut [Scalar],
) -> Result<(), BlockFault> {
    let BlockFrame { flags, body, .. } = *frame;
    if checksum(header, block, flags, body) != frame.checksum {
        return Err(BlockFault::Checksum);
    }
    if flags >> (2 * WIDTHS.len()) != 0 {
        return Err(BlockFault::Malformed("its flags name an unknown group"));
    }
    // The ones' bitmap, or a group that fills the block, writes every place.
    let is_filled = (0..WIDTHS.len()).any(|group| Layout::of(flags, group) == Layout::All);
    if !is_filled && Layout::of(flags, ONES) != Layout::Bitmap {
        target.fill(Scalar::ZERO);
    }
    let mut reader = Reader::new(body, "block");
    for group in 0..WIDTHS.len() {
        match Layout::of(flags, group) {
            Layout::Empty => {}
            Layout::Gaps => read_gaps(&mut reader, group, target)?,
            Layout::Bitmap => read_bitmap(&mut reader, group, target)?,
            Layout::All if flags != Layout::All.flag(group) => {
                return Err(BlockFault::Malformed("a group that fills it is not alone"));
            }
            Layout::All => read_all(&mut reader, group, target)?,
        }
    }
    Ok(reader.finish()?)
}

fn read_gaps(
    reader: &mut Reader<'_>,
    group: usize,
    target: &mut [Scalar],
) -> Result<(), BlockFault> {
    let count = usize::from(reader.u16()?) + 1;
    let mut positions = reader.clone();
    for _ in 0..count {
        gaps::read(reader)?;
    }
    let mut values = Values::take(reader, group, count)?;
    let mut next = 0;
    for _ in 0..count {
        let position = next + gaps::read(&mut positions)?;
        let slot = target
            .get_mut(position)
            .ok_or(BlockFault::Malformed("a gap leads past its end"))?;
        *slot = values.next(position)?;
        next = position + 1;
    }
    Ok(())
}

fn read_bitmap(
    reader: &mut Reader<'_>,
    group: usize,
    target: &mut [Scalar],
) -> Result<(), BlockFault> {
    let len = target.len();
    let bitmap = reader.take(len.div_ceil(8))?;
    let spare_bits = bitmap.len() * 8 - len;
    if let Some(last) = bitmap.last()
        && u16::from(*last) >> (8 - spare_bits) != 0
    {
        return Err(BlockFault::Malformed("a bitmap marks scalars past its end"));
    }
    if group == ONES {
        for (byte, slots) in bitmap.iter().zip(target.chunks_mut(8)) {
            for (bit, slot) in slots.iter_mut().enumerate() {
                // Without branches: half of the bits are set, and none can be foreseen.
                let mask = u64::from(byte >> bit & 1).wrapping_neg();
                *slot = scalar::from_montgomery(scalar::ONE_MONTGOMERY.map(|limb| limb & mask));
            }
        }
        return Ok(());
    }
    let count = bitmap.iter().map(|byte| byte.count_ones() as usize).sum();
    let mut values = Values::take(reader, group, count)?;
    for (index, (byte, slots)) in bitmap.iter().zip(target.chunks_mut(8)).enumerate() {
        let mut rest = *byte;
        while rest != 0 {
            let bit = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            slots[bit] = values.next(index * 8 + bit)?;
        }
    }
    Ok(())
}

fn read_all(
    reader: &mut Reader<'_>,
    group: usize,
    target: &mut [Scalar],
) -> Result<(), BlockFault> {
    if group == WIDE {
        let values = reader.take(WIDTHS[WIDE] * target.len())?;
        let (values, _) = values.as_chunks::<32>();
        for (index, (value, slot)) in values.iter().zip(target).enumerate() {
            let limbs = scalar::limbs_from_bytes(value);
            *slot = scalar::from_canonical(limbs).ok_or(BlockFault::NonCanonical(index))?;
        }
        return Ok(());
    }
    let mut values = Values::take(reader, group, target.len())?;
    for (index, slot) in target.iter_mut().enumerate() {
        *slot = values.next(index)?;
    }
    Ok(())
}

/// The values of a group, in order.
struct Values<'a> {
    group: usize,
    bytes: &'a [u8],
}

impl<'a> Values<'a> {
    fn take(reader: &mut Reader<'a>, group: usize, count: usize) -> Result<Self, BlockFault> {
        Ok(Self {
            group,
            bytes: reader.take(WIDTHS[group] * count)?,
        })
    }

    /// The next value, which belongs at `index` of the block.
    #[inline]
    fn next(&mut self, index: usize) -> Result<Scalar, BlockFault> {
        let small = match self.group {
            ONES => return Ok(scalar::from_montgomery(scalar::ONE_MONTGOMERY)),
            1 => u8::from_le_bytes(self.next_bytes()?).into(),
            2 => u16::from_le_bytes(self.next_bytes()?).into(),
            3 => u32::from_le_bytes(self.next_bytes()?).into(),
            4 => u64::from_le_bytes(self.next_bytes()?),
            _ => {
                let limbs = scalar::limbs_from_bytes(&self.next_bytes()?);
                return scalar::from_canonical(limbs).ok_or(BlockFault::NonCanonical(index));
            }
        };
        Ok(scalar::from_small(small))
    }

    #[inline]
    fn next_bytes<const N: usize>(&mut self) -> Result<[u8; N], BlockFault> {
        let (value, rest) = self
            .bytes
            .split_first_chunk()
            .ok_or(BlockFault::Malformed("its values are too few"))?;
        self.bytes = rest;
        Ok(*value)
    }
}
