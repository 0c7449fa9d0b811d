//! Causes for which an encoded assignment is refused. None of them repeats a witness value.

use std::fmt;

/// The vectors of an assignment, in the order in which they are coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignmentVector {
    /// Public part.
    Input,
    /// Private part.
    Aux,
    /// A·w, if evaluations travel.
    EvaluationsA,
    /// B·w, if evaluations travel.
    EvaluationsB,
}

impl fmt::Display for AssignmentVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Aux => "aux",
            Self::EvaluationsA => "evaluations of A",
            Self::EvaluationsB => "evaluations of B",
        })
    }
}

/// Why bytes are not the assignment that was expected, or cannot be made from one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The bytes end too early.
    #[error("{what} is truncated")]
    Truncated {
        /// What was being read.
        what: &'static str,
    },
    /// Bytes follow after the end.
    #[error("{what} has {bytes} bytes too many")]
    TrailingBytes {
        /// What was read.
        what: &'static str,
        /// How many are left.
        bytes: usize,
    },
    /// The bytes are something else.
    #[error("{what} does not begin as one")]
    WrongMagic {
        /// What was expected.
        what: &'static str,
    },
    /// Written by a process of another version.
    #[error(
        "assignment is coded in version {found}, this process reads {expected}: upgrade the older side"
    )]
    Version {
        /// The version found.
        found: u16,
        /// The version this process reads.
        expected: u16,
    },
    /// Chunks or manifest disagree about what travels and how it is cut.
    #[error("chunk {chunk} has another header than the rest of its assignment")]
    OtherHeader {
        /// Index of the chunk.
        chunk: u32,
    },
    /// A mode or sealing that this version does not know.
    #[error("assignment has {what} {found}, which this process does not know: upgrade it")]
    Unsupported {
        /// `mode` or `sealing`.
        what: &'static str,
        /// Its code.
        found: u8,
    },
    /// Another job's, partition's, attempt's or circuit's assignment.
    #[error("assignment belongs to another task: {what} is {found}, expected {expected}")]
    Foreign {
        /// What differs.
        what: &'static str,
        /// What was expected.
        expected: String,
        /// What the bytes say.
        found: String,
    },
    /// A block length that no encoder chooses.
    #[error("block length {found} is not a power of two in the accepted range")]
    BlockLength {
        /// What the header says.
        found: u32,
    },
    /// A chunk under another chunk's index.
    #[error("chunk {expected} says of itself that it is chunk {found}")]
    ChunkIndex {
        /// The index under which it was stored.
        expected: u32,
        /// The index it carries.
        found: u32,
    },
    /// A chunk that does not continue where the one before ended.
    #[error("chunk {chunk} begins with block {found}, expected {expected}")]
    BlockOrder {
        /// The chunk.
        chunk: u32,
        /// The block that is due.
        expected: u32,
        /// The block it begins with.
        found: u32,
    },
    /// More blocks than the counts allow.
    #[error("chunk {chunk} holds blocks past the end of the assignment")]
    TooManyBlocks {
        /// The chunk.
        chunk: u32,
    },
    /// A larger chunk than any encoder makes.
    #[error("chunk {chunk} has {bytes} bytes, more than the {limit} that a chunk may have")]
    ChunkTooLarge {
        /// The chunk.
        chunk: u32,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A block whose checksum does not fit.
    #[error("block {block} is damaged: its checksum does not fit")]
    BlockChecksum {
        /// Index of the block in the assignment.
        block: u32,
    },
    /// A block that passes its checksum and is still none.
    #[error("block {block} does not read: {reason}")]
    MalformedBlock {
        /// Index of the block in the assignment.
        block: u32,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A value that is not below the field's modulus.
    #[error("{vector}[{index}] is not below the field's modulus")]
    NonCanonicalScalar {
        /// The vector.
        vector: AssignmentVector,
        /// Index within it.
        index: usize,
    },
    /// The manifest's own digest does not fit.
    #[error("manifest is damaged: its digest does not fit")]
    ManifestDigest,
    /// The manifest contradicts the chunks or itself.
    #[error("manifest does not fit the chunks: {what} is {found}, expected {expected}")]
    ManifestMismatch {
        /// What differs.
        what: &'static str,
        /// What the manifest says.
        expected: u64,
        /// What was found.
        found: u64,
    },
    /// A chunk that is not the one in the manifest.
    #[error("chunk {chunk} is not the one that the manifest lists")]
    ChunkDigest {
        /// The chunk.
        chunk: u32,
    },
    /// A chunk that the manifest lists and that is not there.
    #[error("chunk {chunk} is missing")]
    ChunkMissing {
        /// The chunk.
        chunk: u32,
    },
    /// Two different chunks under one index.
    #[error("chunk {chunk} was stored twice with different bytes")]
    ConflictingChunk {
        /// The chunk.
        chunk: u32,
    },
    /// More variables than this format can count.
    #[error("an assignment of {found} variables is larger than the {limit} that can be coded")]
    TooManyVariables {
        /// Number of variables.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// The broker takes entries that are smaller than the smallest chunk.
    #[error(
        "the broker takes entries of at most {limit} bytes, a chunk needs {needed}: raise proto-max-bulk-len"
    )]
    EntryLimitTooSmall {
        /// What the broker takes.
        limit: usize,
        /// What the smallest chunk needs.
        needed: usize,
    },
}
