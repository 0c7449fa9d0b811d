//! The canonical encoding of a shape.
//!
//! Little-endian: magic, version (u16), counts (5 × u64: inputs, aux, constraints, dictionary, index width), dictionary
//! (32 bytes each, canonical), then for A, B and C the number of non-zeros (u64), row ends, columns, dictionary indices;
//! last a BLAKE3 checksum of everything before.

use ff::PrimeField;

use super::Scalar;
use super::matrix::{CoefficientIndices, SparseMatrix};
use super::shape::{Shape, ShapeError};

const MAGIC: &[u8; 8] = b"PMSHAPE\n";
const VERSION: u16 = 1;
const CHECKSUM_LEN: usize = 32;

pub(super) fn encode(shape: &Shape) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    let width = match shape.a.coefficients {
        CoefficientIndices::Narrow(_) => 2,
        CoefficientIndices::Wide(_) => 4,
    };
    for count in [
        shape.num_inputs,
        shape.num_aux,
        shape.num_constraints,
        shape.dictionary.len(),
        width,
    ] {
        out.extend_from_slice(&(count as u64).to_le_bytes());
    }
    for coefficient in &shape.dictionary {
        out.extend_from_slice(coefficient.to_repr().as_ref());
    }
    for matrix in [&shape.a, &shape.b, &shape.c] {
        out.extend_from_slice(&(matrix.num_non_zeros() as u64).to_le_bytes());
        matrix
            .row_ends
            .iter()
            .for_each(|end| out.extend_from_slice(&end.to_le_bytes()));
        matrix
            .columns
            .iter()
            .for_each(|column| out.extend_from_slice(&column.to_le_bytes()));
        match &matrix.coefficients {
            CoefficientIndices::Narrow(indices) => {
                indices
                    .iter()
                    .for_each(|index| out.extend_from_slice(&index.to_le_bytes()));
            }
            CoefficientIndices::Wide(indices) => {
                indices
                    .iter()
                    .for_each(|index| out.extend_from_slice(&index.to_le_bytes()));
            }
        }
    }
    let checksum = blake3::hash(&out);
    out.extend_from_slice(checksum.as_bytes());
    out
}

fn malformed(reason: impl Into<String>) -> ShapeError {
    ShapeError::Malformed {
        reason: reason.into(),
    }
}

/// Takes pieces off the front; every length is checked against what is left before anything is allocated.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], ShapeError> {
        if len > self.0.len() {
            return Err(malformed(format!("{len} bytes are missing at its end")));
        }
        let (head, tail) = self.0.split_at(len);
        self.0 = tail;
        Ok(head)
    }

    fn count(&mut self) -> Result<usize, ShapeError> {
        let bytes = self
            .take(8)?
            .try_into()
            .map_err(|_| malformed("a count is cut"))?;
        usize::try_from(u64::from_le_bytes(bytes)).map_err(|_| malformed("a count is too large"))
    }

    fn items(&mut self, count: usize, width: usize) -> Result<&'a [u8], ShapeError> {
        let len = count
            .checked_mul(width)
            .ok_or_else(|| malformed("a count is too large"))?;
        self.take(len)
    }

    fn u32s(&mut self, count: usize) -> Result<Vec<u32>, ShapeError> {
        let bytes = self.items(count, 4)?;
        Ok(bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| u32::from_le_bytes(*bytes))
            .collect())
    }

    fn u16s(&mut self, count: usize) -> Result<Vec<u16>, ShapeError> {
        let bytes = self.items(count, 2)?;
        Ok(bytes
            .as_chunks::<2>()
            .0
            .iter()
            .map(|bytes| u16::from_le_bytes(*bytes))
            .collect())
    }
}

pub(super) fn decode(bytes: &[u8]) -> Result<Shape, ShapeError> {
    let split = bytes
        .len()
        .checked_sub(CHECKSUM_LEN)
        .ok_or_else(|| malformed("it is too short"))?;
    let (body, checksum) = bytes.split_at(split);
    let mut reader = Reader(body);
    if reader.take(MAGIC.len())? != MAGIC {
        return Err(malformed("it is no shape file"));
    }
    let version = reader.take(2)?;
    if version != VERSION.to_le_bytes() {
        return Err(malformed(format!("its version is not {VERSION}")));
    }
    if blake3::hash(body).as_bytes() != checksum {
        return Err(malformed("its checksum differs: it is damaged"));
    }
    let (num_inputs, num_aux, num_constraints) =
        (reader.count()?, reader.count()?, reader.count()?);
    let (dictionary_len, width) = (reader.count()?, reader.count()?);
    let columns = num_inputs
        .checked_add(num_aux)
        .filter(|columns| *columns <= u32::MAX as usize);
    let columns = columns.ok_or_else(|| malformed("it has too many variables"))?;
    if num_inputs == 0 {
        return Err(malformed("it lacks the input that is one"));
    }
    let dictionary = reader
        .items(dictionary_len, 32)?
        .as_chunks::<32>()
        .0
        .iter()
        .map(|bytes| {
            Option::<Scalar>::from(Scalar::from_repr(*bytes))
                .ok_or_else(|| malformed("a coefficient is not canonical"))
        });
    let dictionary = dictionary.collect::<Result<Vec<Scalar>, ShapeError>>()?;
    let mut matrix = || {
        let non_zeros = reader.count()?;
        let row_ends = reader.u32s(num_constraints)?;
        let columns_of = reader.u32s(non_zeros)?;
        let coefficients = match width {
            2 => CoefficientIndices::Narrow(reader.u16s(non_zeros)?),
            4 => CoefficientIndices::Wide(reader.u32s(non_zeros)?),
            _ => return Err(malformed("its index width is neither 2 nor 4")),
        };
        let matrix = SparseMatrix {
            row_ends,
            columns: columns_of,
            coefficients,
        };
        check(&matrix, columns, dictionary.len())?;
        Ok(matrix)
    };
    let (a, b, c) = (matrix()?, matrix()?, matrix()?);
    if !reader.0.is_empty() {
        return Err(malformed("it has trailing bytes"));
    }
    let shape = Shape::new(num_inputs, num_aux, dictionary, a, b, c)?;
    if shape.encode() == bytes {
        Ok(shape)
    } else {
        Err(malformed("its encoding is not canonical"))
    }
}

fn check(matrix: &SparseMatrix, columns: usize, dictionary: usize) -> Result<(), ShapeError> {
    if !matrix.row_ends.is_sorted()
        || matrix.row_ends.last().map_or(0, |end| *end as usize) != matrix.num_non_zeros()
    {
        return Err(malformed(
            "its row ends do not ascend to the number of non-zeros",
        ));
    }
    if matrix
        .columns
        .iter()
        .any(|column| *column as usize >= columns)
    {
        return Err(malformed("a column lies outside its variables"));
    }
    if (0..matrix.num_non_zeros()).any(|index| matrix.coefficients.get(index) >= dictionary) {
        return Err(malformed("a coefficient lies outside its dictionary"));
    }
    Ok(())
}
