//! What an encoded assignment is of: bound into every chunk, every block's checksum and the manifest.
//!
//! Layout, little-endian, [`HEADER_BYTES`] bytes: magic (8), version u16, mode u8, sealing u8, block length u32, shape
//! digest (32), job (16, big-endian as a UUID), partition u32, attempt u32, num_inputs u64, num_aux u64.
//!
//! A later version may add modes and sealing within the codec (the broker seals whole entries): a reader refuses a code
//! that it does not know by name.

use uuid::Uuid;

use super::error::{AssignmentVector, CodecError};
use super::reader::Reader;
use crate::broker::PayloadKey;
use crate::groth16::Assignment;
use crate::protocol::{Digest, JobId};

/// Version of header, chunks, blocks and manifest.
pub const CODEC_VERSION: u16 = 1;

/// Length of an encoded header.
pub const HEADER_BYTES: usize = 88;

/// Most scalars in a block: 2 MiB in memory, which a core's cache holds while it is coded.
pub const BLOCK_LEN_MAX: u32 = 64 * 1024;

/// Fewest scalars in a full block, for brokers that take small entries only; below, frames would outweigh the data.
pub const BLOCK_LEN_MIN: u32 = 1024;

/// Most variables of an assignment: columns of a shape are 32-bit.
pub const VARIABLES_MAX: u64 = u32::MAX as u64;

/// Marks an encoded assignment.
const MAGIC: [u8; 8] = *b"PMASSIGN";

/// Sealing: none.
const SEALING_NONE: u8 = 0;

/// Which assignment: all that both sides know before a byte is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssignmentFacts {
    /// Job, partition and synthesis attempt.
    pub key: PayloadKey,
    /// Digest of the circuit's shape.
    pub shape: Digest,
    /// Public inputs with the leading one, as the shape has them.
    pub num_inputs: usize,
    /// Private variables, as the shape has them.
    pub num_aux: usize,
    /// Constraints, as the shape has them: the length of each vector of evaluations, if they come.
    pub num_constraints: usize,
}

/// What travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadMode {
    /// Input and aux; the rest follows from the shape.
    Witness,
    /// A·w and B·w as well, for hosts that hold no matrices.
    Evaluated,
}

impl PayloadMode {
    /// What travels of an assignment.
    #[must_use]
    pub const fn of(assignment: &Assignment) -> Self {
        match assignment.evaluations {
            None => Self::Witness,
            Some(_) => Self::Evaluated,
        }
    }

    /// The mode as spans name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Witness => "witness",
            Self::Evaluated => "evaluated",
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Witness => 0,
            Self::Evaluated => 1,
        }
    }

    const fn of_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Witness),
            1 => Some(Self::Evaluated),
            _ => None,
        }
    }
}

impl AssignmentFacts {
    /// Size of what travels in a mode, at 32 bytes a scalar.
    #[must_use]
    pub const fn raw_bytes(&self, mode: PayloadMode) -> u64 {
        let variables = self.num_inputs as u64 + self.num_aux as u64;
        let evaluations = match mode {
            PayloadMode::Witness => 0,
            PayloadMode::Evaluated => 2 * self.num_constraints as u64,
        };
        (variables + evaluations) * 32
    }

    /// Checks that the counts can be coded.
    pub(super) fn check(&self) -> Result<(), CodecError> {
        let variables = (self.num_inputs as u64).saturating_add(self.num_aux as u64);
        let found = variables.max(self.num_constraints as u64);
        if found > VARIABLES_MAX {
            return Err(CodecError::TooManyVariables {
                found,
                limit: VARIABLES_MAX,
            });
        }
        Ok(())
    }
}

/// The facts with the choices of the encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Which assignment.
    pub facts: AssignmentFacts,
    /// What travels.
    pub mode: PayloadMode,
    /// Scalars in a block; the last block of a vector holds what is left.
    pub block_len: u32,
}

impl Header {
    /// Size of what travels at 32 bytes a scalar.
    #[must_use]
    pub const fn raw_bytes(&self) -> u64 {
        self.facts.raw_bytes(self.mode)
    }

    /// Writes the header.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let AssignmentFacts {
            key,
            shape,
            num_inputs,
            num_aux,
            // Follows from the shape, which is bound.
            num_constraints: _,
        } = self.facts;
        let mut out = Vec::with_capacity(HEADER_BYTES);
        out.extend(MAGIC);
        out.extend(CODEC_VERSION.to_le_bytes());
        out.extend([self.mode.code(), SEALING_NONE]);
        out.extend(self.block_len.to_le_bytes());
        out.extend(shape.0);
        out.extend(key.job.trace_id().to_be_bytes());
        out.extend(key.partition.to_le_bytes());
        out.extend(key.attempt.to_le_bytes());
        out.extend((num_inputs as u64).to_le_bytes());
        out.extend((num_aux as u64).to_le_bytes());
        let mut bytes = [0; HEADER_BYTES];
        bytes.copy_from_slice(&out);
        bytes
    }

    /// Reads a header that must be of this assignment.
    ///
    /// # Errors
    /// [`CodecError::Truncated`], [`CodecError::WrongMagic`], [`CodecError::Version`], [`CodecError::Unsupported`],
    /// [`CodecError::BlockLength`], and [`CodecError::Foreign`] if it is of another assignment.
    pub fn decode(bytes: &[u8], expected: &AssignmentFacts) -> Result<Self, CodecError> {
        let mut reader = Reader::new(bytes, "header");
        if reader.array()? != MAGIC {
            return Err(CodecError::WrongMagic { what: "assignment" });
        }
        let version = reader.u16()?;
        if version != CODEC_VERSION {
            return Err(CodecError::Version {
                found: version,
                expected: CODEC_VERSION,
            });
        }
        let [mode, sealing] = reader.array()?;
        let unsupported = |what, found| CodecError::Unsupported { what, found };
        let mode = PayloadMode::of_code(mode).ok_or(unsupported("mode", mode))?;
        if sealing != SEALING_NONE {
            return Err(unsupported("sealing", sealing));
        }
        let block_len = reader.u32()?;
        if !block_len.is_power_of_two() || !(BLOCK_LEN_MIN..=BLOCK_LEN_MAX).contains(&block_len) {
            return Err(CodecError::BlockLength { found: block_len });
        }
        let key = expected.key;
        same("shape", expected.shape, Digest(reader.array()?))?;
        let job = u128::from_be_bytes(reader.array()?);
        same("job", key.job, JobId::from_uuid(Uuid::from_u128(job)))?;
        same("partition", key.partition, reader.u32()?)?;
        same("attempt", key.attempt, reader.u32()?)?;
        same(
            "number of inputs",
            expected.num_inputs as u64,
            reader.u64()?,
        )?;
        same(
            "number of aux variables",
            expected.num_aux as u64,
            reader.u64()?,
        )?;
        reader.finish()?;
        Ok(Self {
            facts: *expected,
            mode,
            block_len,
        })
    }

    /// BLAKE3 digest of the encoded header.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.encode())
    }

    /// The vectors that travel, in order, with their lengths.
    fn vectors(&self) -> impl Iterator<Item = (AssignmentVector, usize)> {
        let facts = self.facts;
        let count = match self.mode {
            PayloadMode::Witness => 2,
            PayloadMode::Evaluated => 4,
        };
        let vectors = [
            (AssignmentVector::Input, facts.num_inputs),
            (AssignmentVector::Aux, facts.num_aux),
            (AssignmentVector::EvaluationsA, facts.num_constraints),
            (AssignmentVector::EvaluationsB, facts.num_constraints),
        ];
        vectors.into_iter().take(count)
    }

    /// Number of blocks: those of each vector in turn.
    pub(super) fn block_count(&self) -> usize {
        let len = self.block_len as usize;
        self.vectors().map(|(_, count)| count.div_ceil(len)).sum()
    }

    /// Where a block's scalars belong; `None` past the last block.
    pub(super) fn place(&self, mut block: usize) -> Option<BlockPlace> {
        let len = self.block_len as usize;
        for (vector, count) in self.vectors() {
            let blocks = count.div_ceil(len);
            if block < blocks {
                let start = block * len;
                return Some(BlockPlace {
                    vector,
                    start,
                    len: len.min(count - start),
                });
            }
            block -= blocks;
        }
        None
    }
}

/// Where a block's scalars belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockPlace {
    /// The vector.
    pub(super) vector: AssignmentVector,
    /// Index of the first scalar in it.
    pub(super) start: usize,
    /// Number of scalars.
    pub(super) len: usize,
}

fn same<T: PartialEq + std::fmt::Display>(
    what: &'static str,
    expected: T,
    found: T,
) -> Result<(), CodecError> {
    if expected == found {
        return Ok(());
    }
    Err(CodecError::Foreign {
        what,
        expected: expected.to_string(),
        found: found.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> AssignmentFacts {
        AssignmentFacts {
            key: PayloadKey {
                job: JobId::from_uuid(Uuid::from_u128(7)),
                partition: 3,
                attempt: 2,
            },
            shape: Digest::of(b"shape"),
            num_inputs: 5,
            num_aux: 2 * 1024 + 1,
            num_constraints: 1025,
        }
    }

    #[test]
    fn a_header_reads_back() {
        let header = Header {
            facts: facts(),
            mode: PayloadMode::Evaluated,
            block_len: BLOCK_LEN_MIN,
        };
        assert_eq!(Header::decode(&header.encode(), &facts()), Ok(header));
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_noticed() {
        let header = Header {
            facts: facts(),
            mode: PayloadMode::Evaluated,
            block_len: BLOCK_LEN_MIN,
        };
        let bytes = header.encode();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Header::decode(&flipped, &facts()), Ok(header), "bit {bit}");
        }
    }

    #[test]
    fn an_assignment_of_another_attempt_is_refused_by_name() {
        let header = Header {
            facts: facts(),
            mode: PayloadMode::Evaluated,
            block_len: BLOCK_LEN_MIN,
        };
        let mut other = facts();
        other.key.attempt = 3;
        let error = Header::decode(&header.encode(), &other).unwrap_err();
        assert!(matches!(
            error,
            CodecError::Foreign {
                what: "attempt",
                ..
            }
        ));
    }

    #[test]
    fn blocks_never_span_two_vectors() {
        let header = Header {
            facts: facts(),
            mode: PayloadMode::Evaluated,
            block_len: BLOCK_LEN_MIN,
        };
        let lens: Vec<_> = (0..)
            .map_while(|block| header.place(block))
            .map(|place| (place.vector, place.start, place.len))
            .collect();
        assert_eq!(
            lens,
            [
                (AssignmentVector::Input, 0, 5),
                (AssignmentVector::Aux, 0, 1024),
                (AssignmentVector::Aux, 1024, 1024),
                (AssignmentVector::Aux, 2048, 1),
                (AssignmentVector::EvaluationsA, 0, 1024),
                (AssignmentVector::EvaluationsA, 1024, 1),
                (AssignmentVector::EvaluationsB, 0, 1024),
                (AssignmentVector::EvaluationsB, 1024, 1),
            ]
        );
        assert_eq!(header.block_count(), 8);
        let witness = Header {
            mode: PayloadMode::Witness,
            ..header
        };
        assert_eq!(witness.block_count(), 4);
    }
}
