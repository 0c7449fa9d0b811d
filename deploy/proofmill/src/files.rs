//! Files that commands read and write: never more than a limit in, the whole or nothing out.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::error::CliError;

/// Largest input a command reads, in bytes: it is held in memory; the coordinator's own limit is lower by default.
pub(crate) const INPUT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Reads a file of at most `limit` bytes; `-` is standard input.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, CliError> {
    if path == Path::new("-") {
        read_from(path, io::stdin().lock(), limit)
    } else {
        let file = File::open(path).map_err(|error| CliError::read(path, error))?;
        read_from(path, file, limit)
    }
}

fn read_from(path: &Path, source: impl Read, limit: u64) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    source
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::read(path, error))?;
    if bytes.len() as u64 > limit {
        let path = path.to_owned();
        return Err(CliError::FileTooLarge { path, limit });
    }
    Ok(bytes)
}

/// Writes a file beside its place first, so that nobody finds half of it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let mut partial = path.to_owned().into_os_string();
    partial.push(".partial");
    fs::write(&partial, bytes)
        .and_then(|()| fs::rename(&partial, path))
        .map_err(|error| CliError::write(path, error))
}
