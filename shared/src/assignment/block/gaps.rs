//! Positions as the gaps between them, in one to three bytes each.
//!
//! A gap is the number of scalars skipped since the value before. Below 224 it is one byte; below 8,160 two bytes, the
//! first in 224..=254 with the high part; else 255 and a little-endian u16. For values that are 1 % of a block a gap
//! takes 1.1 bytes, where the entropy of its position is 1.0.

use super::super::error::CodecError;
use super::super::reader::Reader;

/// First byte from which on a gap has a second one.
const TWO_BYTES: u16 = 224;

/// First byte of a gap of three bytes.
const THREE_BYTES: u8 = 255;

/// Least gap that takes three bytes.
const THREE_BYTES_FROM: u16 = TWO_BYTES + (THREE_BYTES as u16 - TWO_BYTES) * 256;

/// Bytes that the gaps of these rising positions take.
pub(super) fn len(positions: impl Iterator<Item = u16>) -> usize {
    gaps(positions)
        .map(|gap| match gap {
            0..TWO_BYTES => 1,
            TWO_BYTES..THREE_BYTES_FROM => 2,
            THREE_BYTES_FROM.. => 3,
        })
        .sum()
}

/// Writes the gaps of these rising positions.
pub(super) fn write(positions: impl Iterator<Item = u16>, out: &mut Vec<u8>) {
    for gap in gaps(positions) {
        let [low, high] = gap.to_le_bytes();
        if gap < TWO_BYTES {
            out.push(low);
        } else if gap < THREE_BYTES_FROM {
            let [low, high] = (gap - TWO_BYTES).to_le_bytes();
            out.extend([TWO_BYTES.to_le_bytes()[0] + high, low]);
        } else {
            out.extend([THREE_BYTES, low, high]);
        }
    }
}

/// Reads the next gap.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<usize, CodecError> {
    let [first] = reader.array()?;
    if u16::from(first) < TWO_BYTES {
        return Ok(usize::from(first));
    }
    if first == THREE_BYTES {
        return reader.u16().map(usize::from);
    }
    let [low] = reader.array()?;
    let high = u16::from(first) - TWO_BYTES;
    Ok(usize::from(TWO_BYTES + high * 256 + u16::from(low)))
}

fn gaps(positions: impl Iterator<Item = u16>) -> impl Iterator<Item = u16> {
    let mut free = 0u16;
    positions.map(move |position| {
        let gap = position.wrapping_sub(free);
        free = position.wrapping_add(1);
        gap
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_at_the_borders_of_each_length_read_back() {
        for gap in [0, 1, 223, 224, 225, 479, 480, 8159, 8160, 8161, 65_535] {
            let mut bytes = Vec::new();
            write([gap].into_iter(), &mut bytes);
            assert_eq!(bytes.len(), len([gap].into_iter()), "gap {gap}");
            let mut reader = Reader::new(&bytes, "gap");
            assert_eq!(read(&mut reader).unwrap(), usize::from(gap));
            assert!(reader.finish().is_ok(), "gap {gap}");
        }
    }

    #[test]
    fn positions_up_to_the_last_of_a_block_have_gaps() {
        let positions = [0, 1, 300, 65_534, 65_535];
        let mut bytes = Vec::new();
        write(positions.into_iter(), &mut bytes);
        let mut reader = Reader::new(&bytes, "gaps");
        let mut next = 0;
        for position in positions {
            next += read(&mut reader).unwrap();
            assert_eq!(next, usize::from(position));
            next += 1;
        }
    }
}
