//! A file mapped into memory: keys are larger than what one wants to copy.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use memmap2::Mmap;

/// A file mapped for reading.
pub(super) struct MappedFile {
    /// `None` for an empty file, which cannot be mapped.
    map: Option<Mmap>,
}

impl MappedFile {
    /// Opens and maps a file.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Before it is opened: opening a pipe would wait for its writer.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
        }
        let file = File::open(path)?;
        let map = match file.metadata()?.len() {
            0 => None,
            _ => Some(Self::map(&file)?),
        };
        Ok(Self { map })
    }

    #[expect(
        unsafe_code,
        reason = "mapping a file is unsafe because others can change the file"
    )]
    fn map(file: &File) -> io::Result<Mmap> {
        // SAFETY: the mapping is read-only and private to this type. Files of the store are written under another name and
        // renamed, never changed in place, so that what is mapped keeps its bytes. Whoever else may write to a key file is
        // trusted with it: truncating it meanwhile ends the process by SIGBUS.
        unsafe { Mmap::map(file) }
    }

    /// The content.
    pub(super) fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}
