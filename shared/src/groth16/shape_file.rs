//! The canonical file of a shape: one circuit, one sequence of bytes, one digest.
//!
//! Layout, little-endian, without gaps:
//!
//! ```text
//! magic "PMSHAPE1"
//! u64   num_inputs, num_aux, num_constraints, dictionary length, non-zeros of A, of B, of C
//! dictionary    32 bytes an entry; entry 0 is one, the others ascend
//! A, B, C       each: row ends (u32 a row), columns (u32 a non-zero), indices (u16 or u32 a non-zero)
//! density       bitmaps a_aux, b_input, b_aux, least significant bit first, padded with zeros to whole bytes
//! digest        BLAKE3 of all before
//! ```
//!
//! The bitmaps follow from the matrices; they are stored so that every count is paid for in bytes, and a short file cannot
//! ask for a large allocation.

use super::{CoefficientIndices, Density, Scalar, Shape, SparseMatrix};
use crate::protocol::Digest;

mod decode;
mod summary;

pub use decode::ShapeFileError;

const MAGIC: &[u8; 8] = b"PMSHAPE1";
const DIGEST_BYTES: usize = 32;
const SCALAR_BYTES: usize = 32;
/// Elements converted at a time: the buffer stays within the cache.
const ELEMENTS_PER_WRITE: usize = 16 * 1024;

impl Shape {
    /// Encodes the shape canonically.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let header = Header::of(self);
        let mut bytes = Vec::with_capacity(usize::try_from(header.file_bytes()).unwrap_or(0));
        self.write_content(&mut |piece| bytes.extend_from_slice(piece));
        bytes.extend_from_slice(&self.digest.0);
        bytes
    }

    /// Digests the canonical encoding without holding it.
    pub(crate) fn content_digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        self.write_content(&mut |piece| {
            hasher.update(piece);
        });
        Digest(*hasher.finalize().as_bytes())
    }

    /// Everything before the digest.
    fn write_content(&self, out: &mut impl FnMut(&[u8])) {
        out(MAGIC);
        for count in Header::of(self).to_words() {
            out(&count.to_le_bytes());
        }
        for value in &self.dictionary {
            out(&value.to_bytes_le());
        }
        for matrix in [&self.a, &self.b, &self.c] {
            write_words(out, &matrix.row_ends, u32::to_le_bytes);
            write_words(out, &matrix.columns, u32::to_le_bytes);
            match &matrix.coefficients {
                CoefficientIndices::Narrow(indices) => {
                    write_words(out, indices, u16::to_le_bytes);
                }
                CoefficientIndices::Wide(indices) => write_words(out, indices, u32::to_le_bytes),
            }
        }
        let Density {
            a_aux,
            b_input,
            b_aux,
        } = &self.density;
        for bits in [a_aux, b_input, b_aux] {
            let packed = bits.chunks(8).map(pack);
            out(&packed.collect::<Vec<u8>>());
        }
    }
}

fn write_words<T: Copy, const N: usize>(
    out: &mut impl FnMut(&[u8]),
    words: &[T],
    to_bytes: impl Fn(T) -> [u8; N],
) {
    let mut buffer = Vec::with_capacity(ELEMENTS_PER_WRITE.min(words.len()) * N);
    for chunk in words.chunks(ELEMENTS_PER_WRITE) {
        buffer.clear();
        for word in chunk {
            buffer.extend_from_slice(&to_bytes(*word));
        }
        out(&buffer);
    }
}

fn pack(bits: &[bool]) -> u8 {
    let set = |byte, (place, bit): (usize, &bool)| byte | (u8::from(*bit) << place);
    bits.iter().enumerate().fold(0, set)
}

/// The counts at the start of a file.
#[derive(Debug, Clone, Copy)]
struct Header {
    num_inputs: u64,
    num_aux: u64,
    num_constraints: u64,
    dictionary_len: u64,
    num_non_zeros: [u64; 3],
}

impl Header {
    const BYTES: usize = MAGIC.len() + 7 * 8;

    fn of(shape: &Shape) -> Self {
        let non_zeros = |matrix: &SparseMatrix| matrix.num_non_zeros() as u64;
        Self {
            num_inputs: shape.num_inputs as u64,
            num_aux: shape.num_aux as u64,
            num_constraints: shape.num_constraints as u64,
            dictionary_len: shape.dictionary.len() as u64,
            num_non_zeros: [&shape.a, &shape.b, &shape.c].map(non_zeros),
        }
    }

    const fn to_words(self) -> [u64; 7] {
        let [a, b, c] = self.num_non_zeros;
        [
            self.num_inputs,
            self.num_aux,
            self.num_constraints,
            self.dictionary_len,
            a,
            b,
            c,
        ]
    }

    const fn is_narrow(&self) -> bool {
        self.dictionary_len <= CoefficientIndices::NARROW_LIMIT as u64
    }

    /// Length of the whole file. Counts of any size give no overflow.
    fn file_bytes(&self) -> u128 {
        let wide = u128::from;
        let index_bytes = if self.is_narrow() { 2 } else { 4 };
        let non_zeros: u128 = self.num_non_zeros.into_iter().map(u128::from).sum();
        (Self::BYTES + DIGEST_BYTES) as u128
            + wide(self.dictionary_len) * SCALAR_BYTES as u128
            + wide(self.num_constraints) * 12
            + non_zeros * (4 + index_bytes)
            + wide(self.num_aux).div_ceil(8) * 2
            + wide(self.num_inputs).div_ceil(8)
    }
}

#[cfg(test)]
mod tests;
