//! Reads a shape file that anybody may have written.

use ff::Field;
use rayon::prelude::*;

use super::super::scalar::is_zero;
use super::super::shape::MAX_LOG_DOMAIN_SIZE;
use super::{
    CoefficientIndices, DIGEST_BYTES, Density, Digest, Header, MAGIC, SCALAR_BYTES, Scalar, Shape,
    SparseMatrix,
};

/// Why bytes are not a shape file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeFileError {
    /// The magic is absent.
    #[error("not a shape file, or one of a version that this build cannot read")]
    NotAShape,
    /// Truncated or padded.
    #[error("shape file has {found} bytes where its header needs {expected}: fetch it again")]
    Length {
        /// Bytes that the header accounts for.
        expected: u128,
        /// Bytes there are.
        found: u64,
    },
    /// The content is not what was written.
    #[error("shape file is corrupt: content digests to {found}, the file says {expected}")]
    Digest {
        /// Digest stored.
        expected: Digest,
        /// Digest of the content.
        found: Digest,
    },
    /// A count that no circuit has.
    #[error("shape file counts {found} {what}, allowed are {least} to {most}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// The count.
        found: u64,
        /// The least allowed.
        least: u64,
        /// The most allowed.
        most: u64,
    },
    /// A dictionary entry is not below the modulus, zero, out of order or never used.
    #[error("dictionary entry {index} of the shape file is not canonical")]
    Dictionary {
        /// Index of the entry.
        index: usize,
    },
    /// Row ends do not ascend to the number of non-zeros, or a row's columns or indices are out of order or range.
    #[error("row {row} of matrix {matrix} in the shape file is not canonical")]
    Row {
        /// `a`, `b` or `c`.
        matrix: char,
        /// The row, from 0.
        row: usize,
    },
    /// The bitmaps disagree with the matrices.
    #[error("density bitmaps of the shape file do not belong to its matrices")]
    Density,
}

impl Shape {
    /// Decodes a canonical encoding and checks all of it.
    ///
    /// Allocates no more than a small multiple of the length of `bytes`.
    ///
    /// # Errors
    /// [`ShapeFileError`], by the first fault found.
    pub fn decode(bytes: &[u8]) -> Result<Self, ShapeFileError> {
        let header = Header::read(bytes)?;
        let (content, stored) = bytes.split_at(bytes.len() - DIGEST_BYTES);
        let found = Digest(
            *blake3::Hasher::new()
                .update_rayon(content)
                .finalize()
                .as_bytes(),
        );
        if found.0 != stored {
            let mut expected = Digest([0; DIGEST_BYTES]);
            expected.0.copy_from_slice(stored);
            return Err(ShapeFileError::Digest { expected, found });
        }
        // The header's counts add up to the file's length: every `take` below finds its bytes.
        let mut rest = &content[Header::BYTES..];
        let num_inputs = length(header.num_inputs);
        let num_aux = length(header.num_aux);
        let dictionary = read_dictionary(take(&mut rest, header.dictionary_len, SCALAR_BYTES))?;
        let [a, b, c] = header
            .num_non_zeros
            .map(|non_zeros| read_matrix(&mut rest, &header, non_zeros));
        for (matrix, name) in [(&a, 'a'), (&b, 'b'), (&c, 'c')] {
            check_matrix(matrix, name, num_inputs + num_aux, dictionary.len())?;
        }
        check_dictionary_use(dictionary.len(), [&a, &b, &c])?;
        let density = Density::of(num_inputs, num_aux, &a, &b);
        for bits in [&density.a_aux, &density.b_input, &density.b_aux] {
            let packed = take(&mut rest, bits.len().div_ceil(8) as u64, 1);
            if !bits.chunks(8).map(super::pack).eq(packed.iter().copied()) {
                return Err(ShapeFileError::Density);
            }
        }
        Ok(Self {
            num_inputs,
            num_aux,
            num_constraints: length(header.num_constraints),
            dictionary,
            a,
            b,
            c,
            density,
            digest: found,
        })
    }
}

impl Header {
    /// Reads the counts, and compares them with the limits and with the length of the file.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, ShapeFileError> {
        let header = Self::parse(bytes)?;
        if header.file_bytes() != bytes.len() as u128 {
            return Err(ShapeFileError::Length {
                expected: header.file_bytes(),
                found: bytes.len() as u64,
            });
        }
        Ok(header)
    }

    /// Reads the counts at the start of these bytes, and compares them with the limits.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ShapeFileError> {
        if !bytes.starts_with(MAGIC) {
            return Err(ShapeFileError::NotAShape);
        }
        let least = Self::BYTES;
        if bytes.len() < least {
            return Err(ShapeFileError::Length {
                expected: least as u128,
                found: bytes.len() as u64,
            });
        }
        let (words, _) = bytes[MAGIC.len()..Self::BYTES].as_chunks::<8>();
        let word = |i: usize| u64::from_le_bytes(words[i]);
        let header = Self {
            num_inputs: word(0),
            num_aux: word(1),
            num_constraints: word(2),
            dictionary_len: word(3),
            num_non_zeros: [word(4), word(5), word(6)],
        };
        header.check_limits()?;
        Ok(header)
    }

    fn check_limits(&self) -> Result<(), ShapeFileError> {
        let domain = 1 << MAX_LOG_DOMAIN_SIZE;
        let index = u64::from(u32::MAX);
        let [a, b, c] = self.num_non_zeros;
        let rows = self.num_constraints.saturating_add(self.num_inputs);
        let counts = [
            ("inputs", self.num_inputs, 1, domain),
            ("aux variables", self.num_aux, 0, domain),
            ("constraints and inputs", rows, 1, domain),
            ("dictionary entries", self.dictionary_len, 1, index),
            ("non-zeros of a", a, 0, index),
            ("non-zeros of b", b, 0, index),
            ("non-zeros of c", c, 0, index),
        ];
        for (what, found, least, most) in counts {
            if !(least..=most).contains(&found) {
                return Err(ShapeFileError::Count {
                    what,
                    found,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }
}

/// A count that the length of the file has vouched for.
fn length(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn take<'a>(rest: &mut &'a [u8], count: u64, element_bytes: usize) -> &'a [u8] {
    let (taken, tail) = rest.split_at(length(count) * element_bytes);
    *rest = tail;
    taken
}

fn read_dictionary(bytes: &[u8]) -> Result<Vec<Scalar>, ShapeFileError> {
    let (entries, _) = bytes.as_chunks::<SCALAR_BYTES>();
    let mut values = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let value: Option<Scalar> = Scalar::from_bytes_le(entry).into();
        let value = value.ok_or(ShapeFileError::Dictionary { index })?;
        let ascends = index < 2 || entries[index - 1].iter().rev().lt(entry.iter().rev());
        let is_one = value == Scalar::ONE;
        if is_zero(&value) || is_one != (index == 0) || !ascends {
            return Err(ShapeFileError::Dictionary { index });
        }
        values.push(value);
    }
    Ok(values)
}

fn read_matrix(rest: &mut &[u8], header: &Header, non_zeros: u64) -> SparseMatrix {
    let row_ends = read_u32s(take(rest, header.num_constraints, 4));
    let columns = read_u32s(take(rest, non_zeros, 4));
    let coefficients = if header.is_narrow() {
        let (words, _) = take(rest, non_zeros, 2).as_chunks();
        let indices = words.iter().map(|word| u16::from_le_bytes(*word));
        CoefficientIndices::Narrow(indices.collect())
    } else {
        CoefficientIndices::Wide(read_u32s(take(rest, non_zeros, 4)))
    };
    SparseMatrix {
        row_ends,
        columns,
        coefficients,
    }
}

fn read_u32s(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

fn check_matrix(
    matrix: &SparseMatrix,
    name: char,
    num_columns: usize,
    dictionary_len: usize,
) -> Result<(), ShapeFileError> {
    let num_rows = matrix.num_rows();
    let fault = |row| ShapeFileError::Row { matrix: name, row };
    // First the row ends, so that no row below reaches beyond the non-zeros.
    let ends = &matrix.row_ends;
    if let Some(row) = (1..num_rows).find(|row| ends[*row] < ends[row - 1]) {
        return Err(fault(row));
    }
    let last = ends.last().map_or(0, |end| *end as usize);
    if last != matrix.num_non_zeros() {
        return Err(fault(num_rows.saturating_sub(1)));
    }
    let is_canonical = |row: usize| {
        let range = matrix.row_range(row);
        let columns = &matrix.columns[range.clone()];
        columns.is_sorted_by(|left, right| left < right)
            && columns
                .last()
                .is_none_or(|last| (*last as usize) < num_columns)
            && range
                .into_iter()
                .all(|k| matrix.coefficients.get(k) < dictionary_len)
    };
    match (0..num_rows)
        .into_par_iter()
        .find_first(|row| !is_canonical(*row))
    {
        Some(row) => Err(fault(row)),
        None => Ok(()),
    }
}

/// An unused entry would give one circuit two encodings. Entry 0 is always there.
fn check_dictionary_use(
    dictionary_len: usize,
    matrices: [&SparseMatrix; 3],
) -> Result<(), ShapeFileError> {
    let mut is_used = vec![false; dictionary_len];
    is_used[0] = true;
    for matrix in matrices {
        for k in 0..matrix.num_non_zeros() {
            is_used[matrix.coefficients.get(k)] = true;
        }
    }
    match is_used.iter().position(|used| !used) {
        Some(index) => Err(ShapeFileError::Dictionary { index }),
        None => Ok(()),
    }
}
