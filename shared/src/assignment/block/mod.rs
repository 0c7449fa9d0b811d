//! A block of scalars in the smallest of a few encodings.
//!
//! A block starts as all zeros, on which up to six groups are laid, each for one width of value: ones (no value bytes),
//! then canonical little-endian values of 1, 2, 4, 8 and 32 bytes. A group says where its values go in one of three
//! ways, two bits each in the block's `u16` of flags, widths in rising order from the lowest bits:
//!
//! - 0: the group is empty;
//! - 1, gaps: number of values less one (u16), the gap before each (see `gaps`), the values;
//! - 2, bitmap: one bit a scalar, lowest bit first, then the values;
//! - 3, all: one value for every scalar of the block; no other group may be there.
//!
//! So a block of bits is one bitmap; a dense block is 32 bytes a scalar; bits with rare dense values are a bitmap and a
//! list of gaps, close to the entropy of such a mix, where a tag bitmap would cost a bit a scalar.
//!
//! Frame, little-endian: flags u16, body length u32, checksum u32, body. The checksum is CRC-32 over the header's digest,
//! the block's index (u32), the flags and the body, so that a block of another place or attempt does not fit.

mod decode;
mod encode;
mod gaps;
mod mix;
#[cfg(test)]
mod tests;

pub(super) use self::decode::{BlockFault, BlockFrame, decode};
#[cfg(any(test, feature = "testing"))]
pub(super) use self::encode::write;
pub(super) use self::encode::{BlockScratch, encode};
pub use self::mix::EncodingMix;

use crate::protocol::Digest;

/// Bytes of a block before its body.
pub(super) const FRAME_BYTES: usize = 10;

/// Bytes of a value in each group, in the order of the flags.
const WIDTHS: [usize; 6] = [0, 1, 2, 4, 8, 32];

/// Group of the ones.
const ONES: usize = 0;

/// Group of the values that need all 32 bytes.
const WIDE: usize = 5;

/// How a group says where its values go: the two bits of its flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Empty = 0,
    Gaps = 1,
    Bitmap = 2,
    All = 3,
}

impl Layout {
    /// Layout of a group by the flags of its block.
    const fn of(flags: u16, group: usize) -> Self {
        match (flags >> (2 * group)) & 3 {
            0 => Self::Empty,
            1 => Self::Gaps,
            2 => Self::Bitmap,
            _ => Self::All,
        }
    }

    /// The flag bits of this layout for a group.
    const fn flag(self, group: usize) -> u16 {
        (self as u16) << (2 * group)
    }
}

/// Largest frame and body of a block of `len` scalars: 32 bytes each is always among the choices.
pub(super) const fn block_bytes_max(len: usize) -> usize {
    FRAME_BYTES + 32 * len
}

/// Checksum of a block at its place.
fn checksum(header: &Digest, block: u32, flags: u16, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header.0);
    hasher.update(&block.to_le_bytes());
    hasher.update(&flags.to_le_bytes());
    hasher.update(body);
    hasher.finalize()
}
