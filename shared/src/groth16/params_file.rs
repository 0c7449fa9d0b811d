//! The params file: a proving key on disk in bellperson's `.params` layout, mapped rather than read.
//!
//! Layout, big-endian, points uncompressed: the verifying key (α₁ β₁ β₂ γ₂ δ₁ δ₂, then ic), then h, l, a, b_g1, b_g2;
//! each list is a `u32` count and its points. No list may hold the identity, nothing may follow.
//!
//! # Source
//! bellperson 0.27, `groth16/params.rs` and `groth16/verifying_key.rs`.

use std::io::{self, Write};
use std::path::Path;

use group::UncompressedEncoding;
use group::prime::PrimeCurveAffine;

use super::mapped::MappedFile;
use super::points::{read_point, read_points, uncompressed_bytes};
use super::{Check, KeyError, ProvingKey, VerifyingKey};
use crate::protocol::Digest;

/// Points converted between two writes: the buffer stays within the cache.
const POINTS_PER_WRITE: usize = 4096;

impl ProvingKey {
    /// Maps a params file, digests it and decodes it on all cores.
    ///
    /// Every length in it is held against the length of the file before anything is allocated.
    ///
    /// # Errors
    /// [`KeyError::Open`] if the file cannot be mapped, otherwise as [`ProvingKey::decode`].
    pub fn open(path: &Path, check: Check) -> Result<Self, KeyError> {
        let file = MappedFile::open(path).map_err(|source| KeyError::Open {
            path: path.to_owned(),
            source,
        })?;
        Self::decode(file.bytes(), check)
    }

    /// Decodes the bytes of a params file.
    ///
    /// # Errors
    /// [`KeyError::Truncated`], [`KeyError::Trailing`], [`KeyError::Point`], [`KeyError::GammaEqualsDelta`] or
    /// [`KeyError::Inconsistent`].
    pub fn decode(bytes: &[u8], check: Check) -> Result<Self, KeyError> {
        Self::decode_digested(bytes, digest_of_file(bytes), check)
    }

    /// Decodes a file whose digest is known already.
    pub(super) fn decode_digested(
        bytes: &[u8],
        digest: Digest,
        check: Check,
    ) -> Result<Self, KeyError> {
        let mut reader = FieldReader::new(bytes);
        let key = Self {
            vk: VerifyingKey::read(&mut reader)?,
            h_query: reader.points("h_query", check)?,
            l_query: reader.points("l_query", check)?,
            a_query: reader.points("a_query", check)?,
            b_g1_query: reader.points("b_g1_query", check)?,
            b_g2_query: reader.points("b_g2_query", check)?,
            digest,
        };
        reader.finish()?;
        Ok(key)
    }

    /// Writes the params file.
    ///
    /// # Errors
    /// What the writer answers, or `InvalidInput` if a list is too long for its count of four bytes.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.vk.to_bytes())?;
        write_points(out, &self.h_query)?;
        write_points(out, &self.l_query)?;
        write_points(out, &self.a_query)?;
        write_points(out, &self.b_g1_query)?;
        write_points(out, &self.b_g2_query)
    }
}

/// Digest of a params file, on all cores.
pub(super) fn digest_of_file(bytes: &[u8]) -> Digest {
    Digest(
        *blake3::Hasher::new()
            .update_rayon(bytes)
            .finalize()
            .as_bytes(),
    )
}

fn write_points<P: UncompressedEncoding>(out: &mut impl Write, points: &[P]) -> io::Result<()> {
    let count = u32::try_from(points.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "list of points too long"))?;
    out.write_all(&count.to_be_bytes())?;
    let mut buffer = Vec::new();
    for chunk in points.chunks(POINTS_PER_WRITE) {
        buffer.clear();
        for point in chunk {
            buffer.extend_from_slice(point.to_uncompressed().as_ref());
        }
        out.write_all(&buffer)?;
    }
    Ok(())
}

/// Takes fields off the start of a params file.
pub(super) struct FieldReader<'a> {
    rest: &'a [u8],
}

impl<'a> FieldReader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// One point, checked in full.
    pub(super) fn point<P>(&mut self, field: &'static str) -> Result<P, KeyError>
    where
        P: UncompressedEncoding + PrimeCurveAffine,
    {
        let bytes = self.take(field, 1, uncompressed_bytes::<P>())?;
        read_point(bytes, Check::Full).map_err(|fault| KeyError::Point {
            field,
            index: 0,
            fault,
        })
    }

    /// A counted list of points.
    pub(super) fn points<P>(
        &mut self,
        field: &'static str,
        check: Check,
    ) -> Result<Vec<P>, KeyError>
    where
        P: UncompressedEncoding + PrimeCurveAffine,
    {
        let count = self.take(field, 1, size_of::<u32>())?;
        let count = count
            .iter()
            .fold(0, |count, byte| count << 8 | u64::from(*byte));
        let bytes = self.take(field, count, uncompressed_bytes::<P>())?;
        read_points(field, bytes, check)
    }

    /// Refuses bytes that are left.
    pub(super) fn finish(self) -> Result<(), KeyError> {
        match self.rest.len() as u64 {
            0 => Ok(()),
            bytes => Err(KeyError::Trailing { bytes }),
        }
    }

    fn take(
        &mut self,
        field: &'static str,
        count: u64,
        element_bytes: usize,
    ) -> Result<&'a [u8], KeyError> {
        let needed = count * element_bytes as u64;
        let taken = usize::try_from(needed)
            .ok()
            .and_then(|needed| self.rest.split_at_checked(needed));
        let (taken, rest) = taken.ok_or(KeyError::Truncated {
            field,
            needed,
            left: self.rest.len() as u64,
        })?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests;
