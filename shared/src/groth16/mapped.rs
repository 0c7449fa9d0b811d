//! Maps a key file into memory: the one place of this crate with unsafe code.

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;

/// Maps a file for reading.
///
/// # Errors
/// The error of opening or mapping it.
#[expect(
    unsafe_code,
    reason = "mapping a file is unsafe: another process might cut it while it is read"
)]
pub(super) fn map(path: &Path) -> io::Result<Mmap> {
    let file = File::open(path)?;
    // SAFETY: key files are written once, under a temporary name, and renamed into place; nothing writes into or cuts a
    // file of the store. The mapping is private to the decoding that follows and is dropped after it.
    unsafe { Mmap::map(&file) }
}
