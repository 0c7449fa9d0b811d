//! Tests of single blocks: layouts chosen, and bodies that are anything.

use ff::Field;
use proptest::prelude::*;

use super::*;
use crate::assignment::reader::Reader;
use crate::groth16::Scalar;

const HEADER: Digest = Digest([7; 32]);

fn coded(scalars: &[Scalar]) -> (u16, Vec<u8>) {
    let mut bytes = Vec::new();
    let flags = encode(
        scalars,
        &HEADER,
        0,
        &mut BlockScratch::default(),
        &mut bytes,
    );
    (flags, bytes)
}

fn decoded(bytes: &[u8], len: usize) -> Result<Vec<Scalar>, BlockFault> {
    let mut reader = Reader::new(bytes, "block");
    let frame = BlockFrame::read(&mut reader)?;
    reader.finish()?;
    // What stood there is overwritten.
    let mut target = vec![-Scalar::ONE; len];
    decode(&frame, &HEADER, 0, &mut target).map(|()| target)
}

/// A block with this body and the checksum it should have.
fn framed(flags: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::from(flags.to_le_bytes());
    bytes.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
    bytes.extend(checksum(&HEADER, 0, flags, body).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// `len` scalars, of which those at `positions` have a value and the others are zero.
fn sparse(len: usize, positions: &[usize], value: u64) -> Vec<Scalar> {
    let mut scalars = vec![Scalar::ZERO; len];
    for position in positions {
        scalars[*position] = Scalar::from(value);
    }
    scalars
}

#[test]
fn each_kind_of_block_takes_its_smallest_layout() {
    let dense = |i: u64| Scalar::from(i + 2).invert().unwrap();
    let bits: Vec<_> = (0..1000u64).map(|i| Scalar::from(i * i % 3 % 2)).collect();
    let mut mixed = bits.clone();
    mixed[500] = dense(1);
    let cases = [
        (vec![Scalar::ZERO; 1000], 0, Layout::Empty.flag(ONES)),
        (vec![Scalar::ONE; 1000], 0, Layout::All.flag(ONES)),
        (bits, 125, Layout::Bitmap.flag(ONES)),
        (sparse(1000, &[3, 900], 1), 2 + 3, Layout::Gaps.flag(ONES)),
        (sparse(1000, &[3, 900], 9), 2 + 3 + 2, Layout::Gaps.flag(1)),
        (
            (0..1000).map(|i| Scalar::from(i % 200 + 50)).collect(),
            1000,
            Layout::All.flag(1),
        ),
        (
            (0..1000).map(|i| Scalar::from(i + 70_000)).collect(),
            4000,
            Layout::All.flag(3),
        ),
        (
            (0..1000).map(dense).collect(),
            32_000,
            Layout::All.flag(WIDE),
        ),
        (
            mixed,
            125 + 2 + 2 + 32,
            Layout::Bitmap.flag(ONES) | Layout::Gaps.flag(WIDE),
        ),
    ];
    for (scalars, bytes, flags) in cases {
        let (found, block) = coded(&scalars);
        assert_eq!((found, block.len()), (flags, FRAME_BYTES + bytes));
        assert!(decoded(&block, 1000).is_ok_and(|found| found == scalars));
    }
}

#[test]
fn every_width_and_layout_reads_back() {
    let values = [
        2,
        255,
        256,
        65_535,
        65_536,
        u64::from(u32::MAX),
        1 << 32,
        u64::MAX,
    ];
    for len in [1, 7, 8, 9, 63, 64, 65, 1024, 65_536] {
        for value in values.map(Scalar::from).into_iter().chain([-Scalar::ONE]) {
            for step in [1, 2, 7, 300, 9_000] {
                let mut scalars = vec![Scalar::ZERO; len];
                scalars
                    .iter_mut()
                    .step_by(step)
                    .for_each(|slot| *slot = value);
                if let Some(last) = scalars.last_mut() {
                    *last = Scalar::ONE;
                }
                let (_, block) = coded(&scalars);
                assert!(block.len() <= block_bytes_max(len));
                assert!(decoded(&block, len).is_ok_and(|found| found == scalars));
            }
        }
    }
}

#[test]
fn a_value_at_the_modulus_is_refused_with_its_index() {
    let modulus = [
        0x01, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xfe, 0x5b, 0xfe, 0xff, 0x02, 0xa4, 0xbd, 0x53,
        0x05, 0xd8, 0xa1, 0x09, 0x08, 0xd8, 0x39, 0x33, 0x48, 0x7d, 0x9d, 0x29, 0x53, 0xa7, 0xed,
        0x73,
    ];
    let body = [[0u8; 32], modulus].concat();
    let block = framed(Layout::All.flag(WIDE), &body);
    assert!(matches!(
        decoded(&block, 2),
        Err(BlockFault::NonCanonical(1))
    ));

    let body = [&[0, 0, 5][..], &modulus].concat();
    let block = framed(Layout::Gaps.flag(WIDE), &body);
    assert!(matches!(
        decoded(&block, 9),
        Err(BlockFault::NonCanonical(5))
    ));
}

#[test]
fn bodies_that_contradict_themselves_are_refused() {
    let gaps = Layout::Gaps.flag(ONES);
    let bitmap = Layout::Bitmap.flag(ONES);
    let cases: [(u16, &[u8]); 8] = [
        (1 << 12, &[]),
        (Layout::All.flag(ONES) | gaps << 2, &[0, 0, 1, 5]),
        (gaps, &[0, 0, 10]),
        (gaps, &[255, 255]),
        (gaps, &[0, 0, 3, 9]),
        (bitmap, &[0xff]),
        (bitmap, &[0xff, 0b100]),
        (Layout::Bitmap.flag(WIDE), &[0xff, 0b11, 1, 2, 3]),
    ];
    for (flags, body) in cases {
        let result = decoded(&framed(flags, body), 10);
        assert!(
            matches!(result, Err(BlockFault::Malformed(_))),
            "{flags:b} {body:?}"
        );
    }
}

#[test]
fn a_block_of_another_place_or_header_does_not_fit_its_checksum() {
    let (_, block) = coded(&[Scalar::ONE, Scalar::ZERO, Scalar::from(9)]);
    let mut reader = Reader::new(&block, "block");
    let Ok(frame) = BlockFrame::read(&mut reader) else {
        panic!("the block reads");
    };
    let mut target = [Scalar::ZERO; 3];
    assert!(decode(&frame, &HEADER, 0, &mut target).is_ok());
    for (header, place) in [(HEADER, 1), (Digest([8; 32]), 0)] {
        let result = decode(&frame, &header, place, &mut target);
        assert!(matches!(result, Err(BlockFault::Checksum)));
    }
}

proptest! {
    #[test]
    fn any_body_decodes_or_is_refused(
        flags in any::<u16>(),
        body in proptest::collection::vec(any::<u8>(), 0..600),
        len in 1usize..200,
    ) {
        for flags in [flags, flags & 0xfff, flags & 0x555, flags & 0xaaa, flags & 3] {
            if let Ok(scalars) = decoded(&framed(flags, &body), len) {
                prop_assert_eq!(scalars.len(), len);
            }
        }
    }
}
