//! Reading fields from bytes that may be anything.

use super::error::CodecError;

/// A position in a slice; every read checks what is left.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// Reads `bytes`, which errors call `what`.
    pub(super) const fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    /// The next `len` bytes.
    pub(super) const fn take(&mut self, len: usize) -> Result<&'a [u8], CodecError> {
        match self.rest.split_at_checked(len) {
            None => Err(CodecError::Truncated { what: self.what }),
            Some((head, rest)) => {
                self.rest = rest;
                Ok(head)
            }
        }
    }

    /// The next bytes as an array.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// The next two bytes, little-endian.
    pub(super) fn u16(&mut self) -> Result<u16, CodecError> {
        self.array().map(u16::from_le_bytes)
    }

    /// The next four bytes, little-endian.
    pub(super) fn u32(&mut self) -> Result<u32, CodecError> {
        self.array().map(u32::from_le_bytes)
    }

    /// The next eight bytes, little-endian.
    pub(super) fn u64(&mut self) -> Result<u64, CodecError> {
        self.array().map(u64::from_le_bytes)
    }

    /// Checks that nothing is left.
    pub(super) const fn finish(self) -> Result<(), CodecError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(CodecError::TrailingBytes {
            what: self.what,
            bytes: self.rest.len(),
        })
    }
}
