//! Encoding a block: sort its values by width, weigh the layouts, write the smallest.

use super::super::scalar::{self, Limbs};
use super::{FRAME_BYTES, Layout, ONES, WIDE, WIDTHS, checksum, gaps};
use crate::groth16::Scalar;
use crate::protocol::Digest;

/// Values of one width, in the order of their positions.
#[derive(Default)]
struct Group {
    positions: Vec<u16>,
    values: Vec<Limbs>,
}

/// Buffers of one thread, kept from block to block. Holds witness values: no `Debug`.
#[derive(Default)]
pub(in super::super) struct BlockScratch {
    /// One bit a scalar: which are one.
    ones: Vec<u64>,
    /// Values by width; the ones have their bits instead.
    groups: [Group; WIDTHS.len()],
}

/// Layouts chosen for the groups, with what they take.
struct Choice {
    flags: u16,
    bytes: usize,
}

impl BlockScratch {
    /// Sorts the scalars by width.
    fn sort(&mut self, scalars: &[Scalar]) {
        self.ones.clear();
        for group in &mut self.groups {
            group.positions.clear();
            group.values.clear();
        }
        for (word_index, word) in scalars.chunks(64).enumerate() {
            let mut ones = 0u64;
            let mut others = 0u64;
            for (bit, scalar) in word.iter().enumerate() {
                let limbs = scalar::montgomery(scalar);
                let is_one = differs(&limbs, &scalar::ONE_MONTGOMERY) == 0;
                let is_zero = differs(&limbs, &[0; 4]) == 0;
                ones |= u64::from(is_one) << bit;
                others |= u64::from(!is_one & !is_zero) << bit;
            }
            self.ones.push(ones);
            while others != 0 {
                let bit = others.trailing_zeros() as usize;
                others &= others - 1;
                let limbs = scalar::canonical(&word[bit]);
                let group = &mut self.groups[group_of(&limbs)];
                group.positions.push(as_position(word_index * 64 + bit));
                group.values.push(limbs);
            }
        }
    }

    /// Number of ones.
    fn count_ones(&self) -> usize {
        self.ones
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Positions of the ones.
    fn one_positions(&self) -> impl Iterator<Item = u16> {
        bits(&self.ones)
    }

    /// The smallest way to write a block of `len` scalars.
    fn choose(&self, len: usize) -> Choice {
        let bitmap_bytes = len.div_ceil(8);
        let mut layered = Choice { flags: 0, bytes: 0 };
        let mut widest = ONES;
        for (group, width) in WIDTHS.into_iter().enumerate() {
            let count = match group {
                ONES => self.count_ones(),
                _ => self.groups[group].positions.len(),
            };
            if count == 0 {
                continue;
            }
            widest = group;
            // A gap takes a byte at least: past one value in eight, the bitmap wins unseen.
            let gap_bytes = match group {
                _ if count >= bitmap_bytes => usize::MAX,
                ONES => 2 + gaps::len(self.one_positions()),
                _ => 2 + gaps::len(self.groups[group].positions.iter().copied()),
            };
            let layout = if gap_bytes < bitmap_bytes {
                Layout::Gaps
            } else {
                Layout::Bitmap
            };
            layered.flags |= layout.flag(group);
            layered.bytes += gap_bytes.min(bitmap_bytes) + width * count;
        }
        let is_all_ones = widest == ONES && self.count_ones() == len;
        let uniform = WIDTHS[widest] * len;
        if is_all_ones || (widest != ONES && uniform <= layered.bytes) {
            return Choice {
                flags: Layout::All.flag(widest),
                bytes: uniform,
            };
        }
        layered
    }

    /// Writes a group in its layout.
    fn write_group(&self, group: usize, layout: Layout, len: usize, out: &mut Vec<u8>) {
        let Group { positions, values } = &self.groups[group];
        match layout {
            Layout::Empty => return,
            Layout::All => return self.write_all(group, len, out),
            Layout::Gaps if group == ONES => {
                out.extend(as_position(self.count_ones() - 1).to_le_bytes());
                gaps::write(self.one_positions(), out);
            }
            Layout::Gaps => {
                out.extend(as_position(positions.len() - 1).to_le_bytes());
                gaps::write(positions.iter().copied(), out);
            }
            Layout::Bitmap if group == ONES => write_bitmap(&self.ones, len, out),
            Layout::Bitmap => {
                let mut words = vec![0u64; len.div_ceil(64)];
                for position in positions {
                    words[usize::from(*position / 64)] |= 1 << (position % 64);
                }
                write_bitmap(&words, len, out);
            }
        }
        for value in values {
            write_value(value, WIDTHS[group], out);
        }
    }

    /// Writes every scalar at the width of `group`, which is the widest.
    fn write_all(&self, group: usize, len: usize, out: &mut Vec<u8>) {
        if group == ONES {
            return;
        }
        let width = WIDTHS[group];
        if self.groups[group].values.len() == len {
            for value in &self.groups[group].values {
                write_value(value, width, out);
            }
            return;
        }
        let start = out.len();
        out.resize(start + width * len, 0);
        let target = &mut out[start..];
        for position in self.one_positions() {
            target[usize::from(position) * width] = 1;
        }
        for Group { positions, values } in &self.groups[1..] {
            for (position, value) in positions.iter().zip(values) {
                let at = usize::from(*position) * width;
                target[at..at + width].copy_from_slice(&scalar::limbs_to_bytes(value)[..width]);
            }
        }
    }
}

/// Encodes a block with its frame and answers with its flags. At most `BLOCK_LEN_MAX` scalars.
pub(in super::super) fn encode(
    scalars: &[Scalar],
    header: &Digest,
    block: u32,
    scratch: &mut BlockScratch,
    out: &mut Vec<u8>,
) -> u16 {
    if let Some(flags) = encode_wide(scalars, header, block, out) {
        return flags;
    }
    scratch.sort(scalars);
    let choice = scratch.choose(scalars.len());
    out.reserve(FRAME_BYTES + choice.bytes);
    let frame = out.len();
    out.extend([0; FRAME_BYTES]);
    let body = out.len();
    for group in 0..WIDTHS.len() {
        let layout = Layout::of(choice.flags, group);
        scratch.write_group(group, layout, scalars.len(), out);
    }
    debug_assert_eq!(
        out.len() - body,
        choice.bytes,
        "layouts take what was weighed"
    );
    fill_frame(header, block, choice.flags, &mut out[frame..]);
    choice.flags
}

/// Encodes a block of which every value needs all 32 bytes, straight from the scalars: `None`, and nothing written, at the
/// first value that does not.
fn encode_wide(scalars: &[Scalar], header: &Digest, block: u32, out: &mut Vec<u8>) -> Option<u16> {
    let is_wide = |limbs: &Limbs| group_of(limbs) == WIDE;
    let first = scalars.first()?;
    // Most blocks that are not wide are told here, before anything is written.
    if !is_wide(&scalar::canonical(first)) {
        return None;
    }
    let frame = out.len();
    let body = frame + FRAME_BYTES;
    out.resize(body + 32 * scalars.len(), 0);
    for (place, scalar) in out[body..].as_chunks_mut::<32>().0.iter_mut().zip(scalars) {
        let limbs = scalar::canonical(scalar);
        if !is_wide(&limbs) {
            out.truncate(frame);
            return None;
        }
        *place = scalar::limbs_to_bytes(&limbs);
    }
    let flags = Layout::All.flag(WIDE);
    fill_frame(header, block, flags, &mut out[frame..]);
    Some(flags)
}

/// Writes a frame that fits a body, whatever that is.
#[cfg(any(test, feature = "testing"))]
pub(in super::super) fn write(
    header: &Digest,
    block: u32,
    flags: u16,
    body: &[u8],
    out: &mut Vec<u8>,
) {
    let frame = out.len();
    out.resize(frame + FRAME_BYTES, 0);
    out.extend(body);
    fill_frame(header, block, flags, &mut out[frame..]);
}

/// Fills in the frame that stands before a block's body.
fn fill_frame(header: &Digest, block: u32, flags: u16, framed: &mut [u8]) {
    let (frame, body) = framed.split_at_mut(FRAME_BYTES);
    let body_len = u32::try_from(body.len()).expect("a body is at most 2 MiB");
    frame[..2].copy_from_slice(&flags.to_le_bytes());
    frame[2..6].copy_from_slice(&body_len.to_le_bytes());
    frame[6..].copy_from_slice(&checksum(header, block, flags, body).to_le_bytes());
}

/// Zero exactly if the limbs are the same; without branches, so that it vectorises.
#[inline]
fn differs(left: &Limbs, right: &Limbs) -> u64 {
    (left[0] ^ right[0]) | (left[1] ^ right[1]) | (left[2] ^ right[2]) | (left[3] ^ right[3])
}

/// The narrowest group that holds a value of two or more.
fn group_of(limbs: &Limbs) -> usize {
    if limbs[1] | limbs[2] | limbs[3] != 0 {
        return WIDE;
    }
    match limbs[0] {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 3,
        _ => 4,
    }
}

fn write_value(value: &Limbs, width: usize, out: &mut Vec<u8>) {
    match width {
        32 => out.extend_from_slice(&scalar::limbs_to_bytes(value)),
        _ => out.extend_from_slice(&value[0].to_le_bytes()[..width]),
    }
}

/// Writes a bit a scalar, the last byte filled up with zeros.
fn write_bitmap(words: &[u64], len: usize, out: &mut Vec<u8>) {
    let start = out.len();
    for word in words {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.truncate(start + len.div_ceil(8));
}

/// Positions of the bits that are set.
fn bits(words: &[u64]) -> impl Iterator<Item = u16> {
    words.iter().enumerate().flat_map(|(index, word)| {
        let mut rest = *word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(as_position(index * 64 + bit))
        })
    })
}

/// A position within a block, or a count less one.
fn as_position(index: usize) -> u16 {
    debug_assert!(index < 1 << 16, "a block has at most 65,536 scalars");
    #[expect(clippy::cast_possible_truncation, reason = "BLOCK_LEN_MAX is 65,536")]
    {
        index as u16
    }
}
