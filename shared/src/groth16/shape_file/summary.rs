//! What a host needs of a shape whose evaluations are brought to it: counts, densities, digest. They stand at both ends of
//! the canonical file, so that neither a machine nor a connection has to carry the matrices between.

use super::{DIGEST_BYTES, Header, ShapeFileError, pack};
use crate::groth16::{CoefficientIndices, Density, Shape, SparseMatrix};
use crate::protocol::Digest;

impl Shape {
    /// Bytes at the start of a shape's file that belong to its summary.
    pub const SUMMARY_HEAD_BYTES: usize = Header::BYTES;

    /// Bytes at the end of a shape's file that belong to its summary, as its head tells.
    ///
    /// # Errors
    /// [`ShapeFileError`] if the head is none, or its counts are beyond the limits.
    pub fn summary_tail_bytes(head: &[u8]) -> Result<u64, ShapeFileError> {
        Ok(Header::parse(head)?.summary_tail_bytes())
    }

    /// Reads a summary: head and tail of a shape's file, one after the other. The shape that results has no matrices: see
    /// [`Shape::is_summary`].
    ///
    /// That the summary belongs to this digest is taken on trust: a proof made with another one does not verify.
    ///
    /// # Errors
    /// [`ShapeFileError`] if the bytes are no summary of a shape of this digest.
    pub fn decode_summary(bytes: &[u8], digest: Digest) -> Result<Self, ShapeFileError> {
        let header = Header::parse(bytes)?;
        let expected = Header::BYTES as u128 + u128::from(header.summary_tail_bytes());
        if bytes.len() as u128 != expected {
            let found = bytes.len() as u64;
            return Err(ShapeFileError::Length { expected, found });
        }
        let (bitmaps, stored) =
            bytes[Header::BYTES..].split_at(bytes.len() - Header::BYTES - DIGEST_BYTES);
        if stored != digest.0 {
            let mut found = Digest([0; DIGEST_BYTES]);
            found.0.copy_from_slice(stored);
            return Err(ShapeFileError::Digest {
                expected: digest,
                found,
            });
        }
        // The length has vouched for the counts.
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let (num_inputs, num_aux) = (count(header.num_inputs), count(header.num_aux));
        let mut rest = bitmaps;
        let mut bits = |count: usize| {
            let (packed, tail) = rest.split_at(count.div_ceil(8));
            rest = tail;
            unpack(packed, count)
        };
        let empty = || SparseMatrix {
            row_ends: Vec::new(),
            columns: Vec::new(),
            coefficients: CoefficientIndices::Narrow(Vec::new()),
        };
        Ok(Self {
            num_inputs,
            num_aux,
            num_constraints: count(header.num_constraints),
            dictionary: Vec::new(),
            a: empty(),
            b: empty(),
            c: empty(),
            density: Density {
                a_aux: bits(num_aux)?,
                b_input: bits(num_inputs)?,
                b_aux: bits(num_aux)?,
            },
            digest,
        })
    }

    /// Cuts the summary out of a whole file.
    ///
    /// # Errors
    /// [`ShapeFileError`] if it is none.
    pub fn summary_of_file(bytes: &[u8]) -> Result<Vec<u8>, ShapeFileError> {
        let header = Header::read(bytes)?;
        // The header's counts add up to the file's length.
        let tail = usize::try_from(header.summary_tail_bytes()).unwrap_or(0);
        Ok([&bytes[..Header::BYTES], &bytes[bytes.len() - tail..]].concat())
    }
}

impl Header {
    /// Bitmaps and digest.
    fn summary_tail_bytes(&self) -> u64 {
        2 * self.num_aux.div_ceil(8) + self.num_inputs.div_ceil(8) + DIGEST_BYTES as u64
    }
}

fn unpack(packed: &[u8], count: usize) -> Result<Vec<bool>, ShapeFileError> {
    let bits: Vec<bool> = (0..count)
        .map(|bit| packed[bit / 8] >> (bit % 8) & 1 == 1)
        .collect();
    // Bits past the end are zero.
    if bits.chunks(8).map(pack).eq(packed.iter().copied()) {
        Ok(bits)
    } else {
        Err(ShapeFileError::Density)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groth16::circuits::{Cubic, assignment_of, scalar, shape_of};
    use crate::groth16::{Assignment, ShapeError};

    fn cubic() -> Shape {
        shape_of(Cubic { x: None, links: 3 })
    }

    #[test]
    fn a_summary_has_counts_densities_and_digest_of_its_shape() {
        let shape = cubic();
        let summary = Shape::summary_of_file(&shape.encode()).unwrap();
        let found = Shape::decode_summary(&summary, shape.digest).unwrap();
        assert!(found.is_summary() && !shape.is_summary());
        assert_eq!(found.density, shape.density);
        assert_eq!(found.num_rows(), shape.num_rows());
        assert_eq!(
            (found.num_inputs, found.num_aux),
            (shape.num_inputs, shape.num_aux)
        );
        let head = &summary[..Shape::SUMMARY_HEAD_BYTES];
        let tail = Shape::summary_tail_bytes(head).unwrap();
        assert_eq!(summary.len() as u64, head.len() as u64 + tail);
    }

    #[test]
    fn evaluations_stand_in_for_the_matrices() {
        let shape = cubic();
        let assignment = assignment_of(Cubic {
            x: Some(scalar(3)),
            links: 3,
        });
        let evaluations = shape.evaluate(&assignment).unwrap();
        assert_eq!(evaluations.a.len(), shape.num_constraints);
        let summary = Shape::summary_of_file(&shape.encode()).unwrap();
        let summary = Shape::decode_summary(&summary, shape.digest).unwrap();
        let refused = summary.evaluate(&assignment).unwrap_err();
        assert!(matches!(refused, ShapeError::NoMatrices { .. }));
        let evaluated = Assignment {
            evaluations: Some(evaluations),
            ..assignment
        };
        summary.check_assignment(&evaluated).unwrap();
    }

    #[test]
    fn damaged_summaries_are_refused() {
        let shape = cubic();
        let summary = Shape::summary_of_file(&shape.encode()).unwrap();
        for len in 0..summary.len() {
            assert!(
                Shape::decode_summary(&summary[..len], shape.digest).is_err(),
                "{len}"
            );
        }
        let mut padded = summary.clone();
        padded.push(0);
        assert!(Shape::decode_summary(&padded, shape.digest).is_err());
        let other = Digest::of(b"another shape");
        assert!(Shape::decode_summary(&summary, other).is_err());
        let mut claims = summary;
        claims[16..24].copy_from_slice(&(1u64 << 30).to_le_bytes());
        assert!(Shape::decode_summary(&claims, shape.digest).is_err());
    }
}
