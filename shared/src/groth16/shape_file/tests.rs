use super::super::circuits::{Cubic, Rows, scalar, shape_of};
use super::*;
use proptest::prelude::*;

fn cubic() -> Shape {
    shape_of(Cubic { x: None, links: 3 })
}

/// Makes the digest at the end of a file right again after its content was changed.
fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - DIGEST_BYTES;
    let digest = Digest::of(&bytes[..end]);
    bytes[end..].copy_from_slice(&digest.0);
    bytes
}

/// Where in a file of `shape` the row ends of A start.
fn start_of_a(shape: &Shape) -> usize {
    Header::BYTES + shape.dictionary.len() * SCALAR_BYTES
}

#[test]
fn a_shape_reads_back_with_its_digest() {
    let shape = cubic();
    let bytes = shape.encode();
    assert_eq!(Shape::decode(&bytes).unwrap(), shape);
    assert_eq!(bytes[bytes.len() - DIGEST_BYTES..], shape.digest.0);
    assert_eq!(bytes.len() as u128, Header::of(&shape).file_bytes());
}

#[test]
fn truncated_padded_and_foreign_files_are_refused() {
    let bytes = cubic().encode();
    for len in [0, 7, 8, 63, Header::BYTES + 31, bytes.len() - 1] {
        let error = Shape::decode(&bytes[..len]).unwrap_err();
        assert!(
            matches!(
                error,
                ShapeFileError::NotAShape | ShapeFileError::Length { .. }
            ),
            "{error}"
        );
    }
    let padded = [bytes.clone(), vec![0]].concat();
    assert!(matches!(
        Shape::decode(&padded),
        Err(ShapeFileError::Length { .. })
    ));
    let mut foreign = bytes;
    foreign[7] = b'2';
    assert_eq!(Shape::decode(&foreign), Err(ShapeFileError::NotAShape));
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = cubic().encode();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(Shape::decode(&flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn counts_that_lie_are_refused_before_anything_is_allocated() {
    let bytes = cubic().encode();
    for word in 0..7 {
        for lie in [u64::MAX, u64::from(u32::MAX), 1 << 31, 1 << 30] {
            let mut lying = bytes.clone();
            lying[8 + word * 8..16 + word * 8].copy_from_slice(&lie.to_le_bytes());
            let error = Shape::decode(&seal(lying)).unwrap_err();
            assert!(
                matches!(
                    error,
                    ShapeFileError::Count { .. } | ShapeFileError::Length { .. }
                ),
                "{error}"
            );
        }
    }
}

#[test]
fn dictionaries_that_are_not_canonical_are_refused() {
    let bytes = cubic().encode();
    let entry = |index: usize| Header::BYTES + index * SCALAR_BYTES;
    for (index, value) in [(0, [2; 32]), (1, [0xff; 32]), (1, [0; 32])] {
        let mut changed = bytes.clone();
        changed[entry(index)..entry(index + 1)].copy_from_slice(&value);
        assert_eq!(
            Shape::decode(&seal(changed)),
            Err(ShapeFileError::Dictionary { index })
        );
    }
    let mut swapped = bytes;
    for byte in 0..SCALAR_BYTES {
        swapped.swap(entry(1) + byte, entry(2) + byte);
    }
    assert_eq!(
        Shape::decode(&seal(swapped)),
        Err(ShapeFileError::Dictionary { index: 2 })
    );
}

#[test]
fn a_dictionary_entry_that_no_row_uses_is_refused() {
    let mut shape = cubic();
    shape.dictionary.insert(1, Scalar::from(2));
    // Indices 1 and 2 have moved: −5 is entry 2 now, −1 is no longer used.
    shape.digest = shape.content_digest();
    assert_eq!(
        Shape::decode(&shape.encode()),
        Err(ShapeFileError::Dictionary { index: 3 })
    );
}

#[test]
fn rows_that_are_not_canonical_are_refused() {
    let shape = cubic();
    let bytes = shape.encode();
    let row_end = |row: usize| start_of_a(&shape) + row * 4;
    let column = |k: usize| row_end(shape.num_constraints) + k * 4;
    let changed = |at: usize, value: u32| {
        let mut bytes = bytes.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        Shape::decode(&seal(bytes)).unwrap_err()
    };
    let row = |row| ShapeFileError::Row { matrix: 'a', row };
    assert_eq!(changed(row_end(1), 0), row(1));
    assert_eq!(changed(row_end(5), 100), row(5));
    assert_eq!(changed(column(3), 1000), row(3));
    // A column of another, existing variable: only the density tells.
    let free = u32::try_from(shape.num_inputs + shape.num_aux - 1).unwrap();
    assert_ne!(shape.a.columns[0], free);
    assert_eq!(changed(column(0), free), ShapeFileError::Density);
}

/// One row of any circuit over `variables` variables.
fn any_row(variables: usize) -> impl Strategy<Value = [Vec<(usize, i64)>; 3]> {
    let terms = prop::collection::vec((0..variables, -3i64..=3), 0..5);
    [terms.clone(), terms.clone(), terms]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_shape_reads_back(
        num_inputs in 0usize..3,
        rows in prop::collection::vec(any_row(6), 0..12),
    ) {
        let shape = shape_of(Rows {
            inputs: vec![scalar(1); num_inputs],
            aux: vec![scalar(1); 5 - num_inputs],
            rows,
        });
        prop_assert_eq!(Shape::decode(&shape.encode()).unwrap(), shape);
    }

    #[test]
    fn any_bytes_give_an_answer(mut bytes in prop::collection::vec(any::<u8>(), 0..400), sealed: bool) {
        bytes.splice(0..bytes.len().min(8), *MAGIC);
        if sealed && bytes.len() > DIGEST_BYTES {
            bytes = seal(bytes);
        }
        prop_assert!(Shape::decode(&bytes).is_err());
    }
}
