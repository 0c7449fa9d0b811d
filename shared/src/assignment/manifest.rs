//! The list that makes chunks readable: written last, so that who sees it knows that everything is there.
//!
//! Layout, little-endian: magic (8), header (see [`Header`]), number of chunks u32; per chunk its BLAKE3 digest (32), its
//! bytes u32, its blocks u32; bytes of all chunks u64, digest of the whole (32): BLAKE3 over the header's digest and the
//! chunks' digests in order; last the BLAKE3 digest of all that stands before it (32).

use bytes::Bytes;

use super::chunk::CHUNK_BYTES_MAX;
use super::error::CodecError;
use super::header::{AssignmentFacts, HEADER_BYTES, Header};
use super::reader::Reader;
use crate::protocol::Digest;

/// Marks a manifest.
const MAGIC: [u8; 8] = *b"PMMANIFT";

/// What the manifest says of one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkEntry {
    /// BLAKE3 digest of the entry.
    pub digest: Digest,
    /// Its size.
    pub bytes: u32,
    /// Number of its blocks.
    pub blocks: u32,
}

/// The chunks of one assignment, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// What the chunks are of.
    pub header: Header,
    /// The chunks.
    pub chunks: Vec<ChunkEntry>,
}

impl Manifest {
    /// Bytes of all chunks.
    #[must_use]
    pub fn payload_bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| u64::from(chunk.bytes)).sum()
    }

    /// Digest of the whole: of the header and every chunk in order.
    #[must_use]
    pub fn payload_digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.header.digest().0);
        for chunk in &self.chunks {
            hasher.update(&chunk.digest.0);
        }
        Digest(*hasher.finalize().as_bytes())
    }

    /// Writes the manifest.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::from(MAGIC);
        out.extend(self.header.encode());
        let count = u32::try_from(self.chunks.len()).unwrap_or(u32::MAX);
        out.extend(count.to_le_bytes());
        for chunk in &self.chunks {
            out.extend(chunk.digest.0);
            out.extend(chunk.bytes.to_le_bytes());
            out.extend(chunk.blocks.to_le_bytes());
        }
        out.extend(self.payload_bytes().to_le_bytes());
        out.extend(self.payload_digest().0);
        let digest = Digest::of(&out);
        out.extend(digest.0);
        out.into()
    }

    /// Reads a manifest that must be of this assignment.
    ///
    /// # Errors
    /// [`CodecError::ManifestDigest`] if it is damaged, those of [`Header::decode`], and
    /// [`CodecError::ManifestMismatch`] if it contradicts itself or the counts.
    pub fn decode(bytes: &[u8], expected: &AssignmentFacts) -> Result<Self, CodecError> {
        let what = "manifest";
        let (body, digest) = bytes
            .split_last_chunk::<32>()
            .ok_or(CodecError::Truncated { what })?;
        let mut reader = Reader::new(body, what);
        if reader.array()? != MAGIC {
            return Err(CodecError::WrongMagic { what });
        }
        if Digest::of(body) != Digest(*digest) {
            return Err(CodecError::ManifestDigest);
        }
        let header = Header::decode(reader.take(HEADER_BYTES)?, expected)?;
        // Grows with the bytes that are there, not with the count that is claimed.
        let mut chunks = Vec::new();
        for _ in 0..reader.u32()? {
            chunks.push(ChunkEntry {
                digest: Digest(reader.array()?),
                bytes: reader.u32()?,
                blocks: reader.u32()?,
            });
        }
        let manifest = Self { header, chunks };
        let blocks = manifest.chunks.iter().map(|chunk| u64::from(chunk.blocks));
        equal(
            "number of blocks",
            header.block_count() as u64,
            blocks.sum(),
        )?;
        equal("number of bytes", reader.u64()?, manifest.payload_bytes())?;
        let most = manifest.chunks.iter().map(|chunk| chunk.bytes).max();
        if most.is_some_and(|bytes| bytes as usize > CHUNK_BYTES_MAX) {
            equal(
                "largest chunk",
                CHUNK_BYTES_MAX as u64,
                u64::from(most.unwrap_or(0)),
            )?;
        }
        if Digest(reader.array()?) != manifest.payload_digest() {
            return Err(CodecError::ManifestDigest);
        }
        reader.finish()?;
        Ok(manifest)
    }
}

/// Checks one number of the manifest.
pub(super) const fn equal(what: &'static str, expected: u64, found: u64) -> Result<(), CodecError> {
    if expected == found {
        return Ok(());
    }
    Err(CodecError::ManifestMismatch {
        what,
        expected,
        found,
    })
}
