//! Shapes and keys on disk, by the digest of the shape; shared by processes on a host.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Check, KeyError, ProvingKey, Shape, ShapeError};
use crate::protocol::Digest;

/// Why something cannot be had from the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or folder of the store cannot be read or written.
    #[error("store file {path} cannot be used")]
    File {
        /// Which one.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// There is no such shape.
    #[error(
        "shape {shape} is not in the store {home}: run proofmill params generate CIRCUIT there"
    )]
    MissingShape {
        /// Which one.
        shape: Digest,
        /// Where it was sought.
        home: String,
    },
    /// There is no key for this shape.
    #[error(
        "proving key of shape {shape} is not in the store {home}: run proofmill params generate CIRCUIT there"
    )]
    MissingKey {
        /// Shape of the circuit.
        shape: Digest,
        /// Where it was sought.
        home: String,
    },
    /// The shape does not read.
    #[error("stored shape is damaged: delete {path}")]
    Shape {
        /// Its file.
        path: String,
        /// What is wrong with it.
        #[source]
        source: ShapeError,
    },
    /// The key does not read or fit.
    #[error("stored key cannot be used")]
    Key(#[from] KeyError),
}

/// A folder with `keys/`, `shapes/` and `tuning/`. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    home: PathBuf,
}

impl Store {
    /// Names a store; its folders are made when something is written.
    #[must_use]
    pub fn at(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// File of a shape.
    #[must_use]
    pub fn shape_path(&self, shape: &Digest) -> PathBuf {
        self.home.join("shapes").join(format!("{shape}.shape"))
    }

    /// File of the key of a shape.
    #[must_use]
    pub fn key_path(&self, shape: &Digest) -> PathBuf {
        self.home.join("keys").join(format!("{shape}.params"))
    }

    fn checked_path(&self, shape: &Digest) -> PathBuf {
        self.home.join("keys").join(format!("{shape}.checked"))
    }

    /// Reads a shape.
    ///
    /// # Errors
    /// [`StoreError::MissingShape`], [`StoreError::Shape`], [`StoreError::File`].
    pub fn shape(&self, digest: &Digest) -> Result<Shape, StoreError> {
        let path = self.shape_path(digest);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::MissingShape {
                    shape: *digest,
                    home: self.home.display().to_string(),
                });
            }
            Err(source) => return Err(file_error(&path, source)),
        };
        let damaged = |source| StoreError::Shape {
            path: path.display().to_string(),
            source,
        };
        let shape = Shape::decode(&bytes).map_err(damaged)?;
        if shape.digest != *digest {
            return Err(damaged(ShapeError::Malformed {
                reason: "its digest is not its name".into(),
            }));
        }
        Ok(shape)
    }

    /// Writes a shape, unless it is there.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn put_shape(&self, shape: &Shape) -> Result<(), StoreError> {
        let path = self.shape_path(&shape.digest);
        if path.exists() {
            Ok(())
        } else {
            write_file(&path, &shape.encode())
        }
    }

    /// True if there is a key for this shape.
    #[must_use]
    pub fn has_key(&self, shape: &Digest) -> bool {
        self.key_path(shape).exists()
    }

    /// Writes the key of a shape, in place of an older one.
    ///
    /// # Errors
    /// [`StoreError::File`], and [`StoreError::Key`] if it does not fit the shape.
    pub fn put_key(&self, shape: &Shape, key: &ProvingKey) -> Result<(), StoreError> {
        key.fits(shape)?;
        self.put_shape(shape)?;
        write_file(&self.key_path(&shape.digest), &key.to_bytes())
    }

    /// Opens the key of a shape. The first time it is checked in full, which is remembered by its digest; later only its
    /// digest is compared.
    ///
    /// # Errors
    /// [`StoreError::MissingKey`], [`StoreError::Key`], [`StoreError::File`].
    pub fn open_key(&self, shape: &Shape) -> Result<ProvingKey, StoreError> {
        let path = self.key_path(&shape.digest);
        if !path.exists() {
            let home = self.home.display().to_string();
            return Err(StoreError::MissingKey {
                shape: shape.digest,
                home,
            });
        }
        let marker = self.checked_path(&shape.digest);
        let remembered = fs::read_to_string(&marker)
            .ok()
            .and_then(|text| text.trim().parse::<Digest>().ok());
        if let Some(checked) = remembered {
            let key = ProvingKey::open(&path, Check::Trusted)?;
            if key.digest == checked {
                key.fits(shape)?;
                return Ok(key);
            }
        }
        let key = ProvingKey::open(&path, Check::Full)?;
        key.fits(shape)?;
        write_file(&marker, key.digest.to_string().as_bytes())?;
        Ok(key)
    }
}

fn file_error(path: &Path, source: io::Error) -> StoreError {
    StoreError::File {
        path: path.display().to_string(),
        source,
    }
}

/// Writes under a temporary name, flushes to disk, renames: readers see the whole file or none.
fn write_file(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let write = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let temporary = path.with_extension(format!("tmp-{}", uuid::Uuid::now_v7().simple()));
        let mut file = fs::File::create(&temporary)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&temporary, path));
        if written.is_err() && fs::remove_file(&temporary).is_err() {
            tracing::debug!(path = %temporary.display(), "temporary file stays");
        }
        written
    };
    write().map_err(|source| file_error(path, source))
}
