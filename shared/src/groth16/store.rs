//! The local store of shapes and keys, named by digest.
//!
//! ```text
//! shapes/<shape digest>.shape      canonical encoding
//! shapes/<shape digest>.summary    counts and densities, where the whole is not needed
//! keys/<shape digest>.params       the circuit's proving key
//! keys/<shape digest>.checked      digest of the key file that has passed the full check
//! tuning/                          measured choices of the backends
//! ```
//!
//! Files appear complete or not at all, and never change: a new one takes the place of the old.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use self::atomic::write_atomically;
use super::mapped::MappedFile;
use super::params_file::digest_of_file;
use super::{Check, ProvingKey, Shape};
use crate::protocol::Digest;

mod atomic;
mod error;

pub use error::StoreError;

/// The folder of shapes and keys. Several processes may share it.
#[derive(Debug, Clone)]
pub struct Store {
    home: PathBuf,
}

/// What the store holds of one circuit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreEntry {
    /// The circuit's shape.
    pub shape: Digest,
    /// Length of the shape file, if it is there.
    pub shape_bytes: Option<u64>,
    /// Length of the params file, if it is there.
    pub key_bytes: Option<u64>,
    /// Digest of the key that passed the full check, if one did. Says nothing of a file that took its place since.
    pub checked_key: Option<Digest>,
}

const SHAPE_EXTENSION: &str = "shape";
const SUMMARY_EXTENSION: &str = "summary";
const KEY_EXTENSION: &str = "params";
const MARKER_EXTENSION: &str = "checked";

impl Store {
    /// Names the store. Folders are made when something is put.
    #[must_use]
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into() }
    }

    /// The folder of the store.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The folder of measured choices.
    #[must_use]
    pub fn tuning_folder(&self) -> PathBuf {
        self.home.join("tuning")
    }

    /// Where the shape of this digest lies, if it does.
    #[must_use]
    pub fn shape_path(&self, shape: Digest) -> PathBuf {
        self.shapes_folder()
            .join(format!("{shape}.{SHAPE_EXTENSION}"))
    }

    /// Where the key of a circuit lies, if it does.
    #[must_use]
    pub fn key_path(&self, shape: Digest) -> PathBuf {
        self.keys_folder().join(format!("{shape}.{KEY_EXTENSION}"))
    }

    /// Reads and checks a shape.
    ///
    /// # Errors
    /// [`StoreError::MissingShape`], [`StoreError::Shape`], [`StoreError::Misnamed`] or [`StoreError::Io`].
    pub fn shape(&self, digest: Digest) -> Result<Shape, StoreError> {
        let path = self.shape_path(digest);
        let missing = StoreError::MissingShape { shape: digest };
        let file = map_or_missing(&path, missing)?;
        match Shape::decode(file.bytes()) {
            Ok(shape) if shape.digest == digest => Ok(shape),
            Ok(shape) => Err(StoreError::Misnamed {
                path,
                found: shape.digest,
            }),
            Err(source) => Err(StoreError::Shape { path, source }),
        }
    }

    /// Reads what a host needs of a shape whose evaluations are brought to it, from the shape's file or from a summary alone.
    ///
    /// # Errors
    /// [`StoreError::MissingShape`], [`StoreError::Shape`] or [`StoreError::Io`].
    pub fn shape_summary(&self, digest: Digest) -> Result<Shape, StoreError> {
        let (path, summary) = match MappedFile::open(&self.shape_path(digest)) {
            Ok(file) => {
                let path = self.shape_path(digest);
                (path, Shape::summary_of_file(file.bytes()))
            }
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                let path = self.summary_path(digest);
                let missing = StoreError::MissingShape { shape: digest };
                let file = map_or_missing(&path, missing)?;
                (path, Ok(file.bytes().to_vec()))
            }
            Err(source) => return Err(io_error(&self.shape_path(digest), source)),
        };
        summary
            .and_then(|summary| Shape::decode_summary(&summary, digest))
            .map_err(|source| StoreError::Shape { path, source })
    }

    /// Keeps the summary of a shape.
    ///
    /// # Errors
    /// [`StoreError::Shape`] if it is none, [`StoreError::Io`].
    pub fn put_summary(&self, digest: Digest, summary: &[u8]) -> Result<PathBuf, StoreError> {
        let path = self.summary_path(digest);
        if let Err(source) = Shape::decode_summary(summary, digest) {
            return Err(StoreError::Shape { path, source });
        }
        write_atomically(&path, |file| file.write_all(summary))
            .map_err(|source| io_error(&path, source))?;
        Ok(path)
    }

    /// Where the summary of a shape lies that is not here as a whole, if it does.
    #[must_use]
    pub fn summary_path(&self, shape: Digest) -> PathBuf {
        self.shapes_folder()
            .join(format!("{shape}.{SUMMARY_EXTENSION}"))
    }

    /// Keeps a shape under its digest.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn put_shape(&self, shape: &Shape) -> Result<PathBuf, StoreError> {
        let path = self.shape_path(shape.digest);
        let encoding = shape.encode();
        write_atomically(&path, |file| file.write_all(&encoding))
            .map_err(|source| io_error(&path, source))?;
        Ok(path)
    }

    /// Keeps the key of a circuit in place of any before it, and marks it as checked: it must come from key generation,
    /// from a full check, or from a store.
    ///
    /// # Errors
    /// [`StoreError::Io`], of kind `InvalidData` if the key was altered after it was digested.
    pub fn put_key(&self, shape: Digest, key: &ProvingKey) -> Result<PathBuf, StoreError> {
        let path = self.key_path(shape);
        write_atomically(&path, |file| {
            let mut digesting = Digesting {
                inner: BufWriter::with_capacity(WRITE_BYTES, file),
                hasher: blake3::Hasher::new(),
            };
            key.write(&mut digesting)?;
            digesting.flush()?;
            if digesting.hasher.finalize().as_bytes() != &key.digest.0 {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "key was altered after it was digested",
                ));
            }
            Ok(())
        })
        .map_err(|source| io_error(&path, source))?;
        self.mark_checked(shape, key.digest)?;
        Ok(path)
    }

    /// Takes a file from elsewhere as the shape of this digest: checked, then moved to its place.
    ///
    /// # Errors
    /// [`StoreError::Shape`] or [`StoreError::Misnamed`] if it is not that shape; [`StoreError::Io`].
    pub fn adopt_shape(&self, digest: Digest, file: &Path) -> Result<PathBuf, StoreError> {
        let mapped = MappedFile::open(file).map_err(|source| io_error(file, source))?;
        let path = file.to_owned();
        match Shape::decode(mapped.bytes()) {
            Ok(shape) if shape.digest == digest => move_into(file, &self.shape_path(digest)),
            Ok(shape) => Err(StoreError::Misnamed {
                path,
                found: shape.digest,
            }),
            Err(source) => Err(StoreError::Shape { path, source }),
        }
    }

    /// Takes a file of this digest from elsewhere as the key of a circuit. It counts as unchecked: its first load checks it
    /// in full.
    ///
    /// # Errors
    /// [`StoreError::Misnamed`] if the file has another digest; [`StoreError::Io`].
    pub fn adopt_key(
        &self,
        shape: Digest,
        digest: Digest,
        file: &Path,
    ) -> Result<PathBuf, StoreError> {
        let mapped = MappedFile::open(file).map_err(|source| io_error(file, source))?;
        let found = digest_of_file(mapped.bytes());
        if found != digest {
            let path = file.to_owned();
            return Err(StoreError::Misnamed { path, found });
        }
        move_into(file, &self.key_path(shape))
    }

    /// Digest of the key file of a circuit, if that has passed the full check.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn checked_key(&self, shape: Digest) -> Result<Option<Digest>, StoreError> {
        self.checked_digest(shape)
    }

    /// Maps and decodes the key of a circuit: checked in full once, later by digest only.
    ///
    /// Whether it fits the circuit is for [`ProvingKey::fits`] to say.
    ///
    /// # Errors
    /// [`StoreError::MissingKey`], [`StoreError::Key`] or [`StoreError::Io`].
    pub fn open_key(&self, shape: Digest) -> Result<ProvingKey, StoreError> {
        let path = self.key_path(shape);
        let file = map_or_missing(&path, StoreError::MissingKey { shape })?;
        let digest = digest_of_file(file.bytes());
        let is_checked = self.checked_digest(shape)? == Some(digest);
        let check = if is_checked {
            Check::Trusted
        } else {
            Check::Full
        };
        let key = ProvingKey::decode_digested(file.bytes(), digest, check)
            .map_err(|source| StoreError::Key { path, source })?;
        if !is_checked {
            self.mark_checked(shape, digest)?;
        }
        Ok(key)
    }

    /// Everything in the store, by digest of the shape.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn list(&self) -> Result<Vec<StoreEntry>, StoreError> {
        let mut entries = BTreeMap::new();
        for (shape, bytes) in files_of(&self.shapes_folder(), SHAPE_EXTENSION)? {
            entry(&mut entries, shape).shape_bytes = Some(bytes);
        }
        for (shape, bytes) in files_of(&self.keys_folder(), KEY_EXTENSION)? {
            let entry = entry(&mut entries, shape);
            entry.key_bytes = Some(bytes);
            entry.checked_key = self.checked_digest(shape)?;
        }
        Ok(entries.into_values().collect())
    }

    fn shapes_folder(&self) -> PathBuf {
        self.home.join("shapes")
    }

    fn keys_folder(&self) -> PathBuf {
        self.home.join("keys")
    }

    fn marker_path(&self, shape: Digest) -> PathBuf {
        self.keys_folder()
            .join(format!("{shape}.{MARKER_EXTENSION}"))
    }

    /// Digest of the key that passed the full check. An unreadable marker is none: the check is made again.
    fn checked_digest(&self, shape: Digest) -> Result<Option<Digest>, StoreError> {
        let path = self.marker_path(shape);
        match fs::read(&path) {
            Ok(bytes) => {
                let text = std::str::from_utf8(&bytes).unwrap_or_default();
                Ok(text.trim_end().parse().ok())
            }
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(io_error(&path, source)),
        }
    }

    fn mark_checked(&self, shape: Digest, key: Digest) -> Result<(), StoreError> {
        let path = self.marker_path(shape);
        write_atomically(&path, |file| writeln!(file, "{key}"))
            .map_err(|source| io_error(&path, source))
    }
}

/// Bytes handed to the file system at a time: points are written one list after another in small pieces.
const WRITE_BYTES: usize = 1 << 20;

/// A writer that digests what passes.
struct Digesting<W> {
    inner: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Moves a complete file to its place within the same file system, durably.
fn move_into(file: &Path, path: &Path) -> Result<PathBuf, StoreError> {
    let moved = fs::File::open(file)
        .and_then(|opened| opened.sync_all())
        .and_then(|()| fs::rename(file, path))
        .and_then(|()| match path.parent() {
            Some(folder) => fs::File::open(folder)?.sync_all(),
            None => Ok(()),
        });
    moved.map_err(|source| io_error(path, source))?;
    Ok(path.to_owned())
}

fn io_error(path: &Path, source: io::Error) -> StoreError {
    StoreError::Io {
        path: path.to_owned(),
        source,
    }
}

fn map_or_missing(path: &Path, missing: StoreError) -> Result<MappedFile, StoreError> {
    MappedFile::open(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => missing,
        _ => io_error(path, source),
    })
}

/// Files named by a digest, with their lengths. An absent folder is an empty one; other names are not ours.
fn files_of(folder: &Path, extension: &str) -> Result<Vec<(Digest, u64)>, StoreError> {
    let failed = |source| io_error(folder, source);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let digest = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .and_then(|stem| stem.parse().ok());
        let has_extension = path.extension().is_some_and(|found| found == extension);
        if let Some(digest) = digest.filter(|_| has_extension) {
            files.push((digest, entry.metadata().map_err(failed)?.len()));
        }
    }
    Ok(files)
}

fn entry(entries: &mut BTreeMap<Digest, StoreEntry>, shape: Digest) -> &mut StoreEntry {
    entries.entry(shape).or_insert(StoreEntry {
        shape,
        shape_bytes: None,
        key_bytes: None,
        checked_key: None,
    })
}

#[cfg(test)]
mod tests;
