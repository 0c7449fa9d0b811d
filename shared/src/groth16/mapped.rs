//! A file mapped into memory: keys are larger than what one wants to copy.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use super::KeyError;

/// A file mapped for reading.
pub(super) struct MappedFile {
    /// `None` for an empty file, which cannot be mapped.
    map: Option<Mmap>,
}

impl MappedFile {
    /// Opens and maps a file.
    pub(super) fn open(path: &Path) -> Result<Self, KeyError> {
        let failed = |source| KeyError::Open {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(failed(std::io::ErrorKind::InvalidInput.into()));
        }
        if metadata.len() == 0 {
            return Ok(Self { map: None });
        }
        let map = Self::map(&file).map_err(failed)?;
        Ok(Self { map: Some(map) })
    }

    #[expect(
        unsafe_code,
        reason = "mapping a file is unsafe because others can change the file"
    )]
    fn map(file: &File) -> std::io::Result<Mmap> {
        // SAFETY: the mapping is read-only and private to this type. Files of the store are written under another name and
        // renamed, never changed in place. If somebody else truncates the file meanwhile, the process ends by SIGBUS; if
        // somebody writes to it, the checks below see some bytes or others, none of which they trust.
        unsafe { Mmap::map(file) }
    }

    /// The content.
    pub(super) fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}
