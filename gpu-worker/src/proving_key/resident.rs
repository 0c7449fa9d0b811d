//! Which circuits stay on the device: the most recently used ones that fit a byte budget.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use proofmill_shared::config::ShapeResidency;
use proofmill_shared::distribution::{Artifact, ArtifactSource, DistributionError};
use proofmill_shared::groth16::{PreparedVerifyingKey, Store, StoreError};
use proofmill_shared::protocol::Digest;

use super::LoadError;
use crate::backend::{Backend, LoadedCircuit};

/// A circuit on the device, with what verifies its proofs.
pub struct ResidentCircuit<B: Backend> {
    circuit: B::Circuit,
    verifying_key: PreparedVerifyingKey,
    verifying_key_digest: Digest,
}

impl<B: Backend> ResidentCircuit<B> {
    /// The circuit, as the backend has it.
    #[must_use]
    pub const fn circuit(&self) -> &B::Circuit {
        &self.circuit
    }

    /// The verifying key with its pairings prepared.
    #[must_use]
    pub const fn verifying_key(&self) -> &PreparedVerifyingKey {
        &self.verifying_key
    }

    /// BLAKE3 digest of the verifying key.
    #[must_use]
    pub const fn verifying_key_digest(&self) -> Digest {
        self.verifying_key_digest
    }
}

impl<B: Backend> fmt::Debug for ResidentCircuit<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidentCircuit")
            .field("shape", &self.circuit.shape().digest)
            .field("verifying_key", &self.verifying_key_digest)
            .finish()
    }
}

/// A circuit asked for, and whether it had to be loaded.
#[derive(Debug)]
pub struct Loaded<B: Backend> {
    /// The circuit; it stays on the device at least as long as this is held.
    pub circuit: Arc<ResidentCircuit<B>>,
    /// How long reading, checking and uploading took; `None` if the circuit was resident.
    pub load_time: Option<Duration>,
}

/// The circuits on one device, by the digest of their shape.
///
/// The budget is kept by forgetting the least recently used circuits before a load. A forgotten circuit that a proof still
/// holds leaves the device when that proof ends.
pub struct ResidentCircuits<B: Backend> {
    backend: Arc<B>,
    store: Store,
    source: Option<ArtifactSource>,
    shapes: ShapeResidency,
    budget: u64,
    /// Held while a circuit is loaded: one at a time, for a load uses all cores and must know what is resident.
    loading: Mutex<()>,
    /// Least recently used first.
    entries: Mutex<Vec<Entry<B>>>,
}

struct Entry<B: Backend> {
    shape: Digest,
    bytes: u64,
    circuit: Arc<ResidentCircuit<B>>,
}

impl<B: Backend> ResidentCircuits<B> {
    /// Starts with none; shapes and keys come from a store, and what that lacks from the source, if there is one; at most
    /// `budget` bytes stay.
    pub fn new(
        backend: Arc<B>,
        store: Store,
        source: Option<ArtifactSource>,
        shapes: ShapeResidency,
        budget: u64,
    ) -> Self {
        Self {
            backend,
            store,
            source,
            shapes,
            budget,
            loading: Mutex::new(()),
            entries: Mutex::default(),
        }
    }

    /// Digests of the resident shapes, the most recently used last.
    #[must_use]
    pub fn warm(&self) -> Vec<Digest> {
        let entries = self.entries.lock();
        entries.iter().map(|entry| entry.shape).collect()
    }

    /// The circuit of a shape, loaded if it is not resident.
    ///
    /// # Errors
    /// [`LoadError::Store`] if the store lacks shape or key, or they are damaged or do not fit each other;
    /// [`LoadError::OverBudget`] if the circuit can never be resident, before the key is read; [`LoadError::Backend`] if
    /// the device cannot take it.
    pub fn get(&self, shape: &Digest) -> Result<Loaded<B>, LoadError> {
        if let Some(circuit) = self.touch(shape) {
            return Ok(Loaded {
                circuit,
                load_time: None,
            });
        }
        let _loading = self.loading.lock();
        // Another thread may have loaded it meanwhile.
        if let Some(circuit) = self.touch(shape) {
            return Ok(Loaded {
                circuit,
                load_time: None,
            });
        }
        let started = Instant::now();
        let circuit = self.load(shape)?;
        Ok(Loaded {
            circuit,
            load_time: Some(started.elapsed()),
        })
    }

    /// Finds a resident circuit and makes it the most recently used.
    fn touch(&self, shape: &Digest) -> Option<Arc<ResidentCircuit<B>>> {
        let mut entries = self.entries.lock();
        let found = entries.iter().position(|entry| entry.shape == *shape)?;
        entries[found..].rotate_left(1);
        entries.last().map(|entry| Arc::clone(&entry.circuit))
    }

    fn load(&self, digest: &Digest) -> Result<Arc<ResidentCircuit<B>>, LoadError> {
        let shape = match self.shapes {
            ShapeResidency::Full => {
                self.fetch(|source, store| {
                    source.fetch(store, Artifact::Shape(*digest)).map(drop)
                })?;
                self.store.shape(*digest)?
            }
            ShapeResidency::Summary => {
                self.fetch(|source, store| source.fetch_summary(store, *digest))?;
                self.store.shape_summary(*digest)?
            }
        };
        let bytes = self.backend.bytes_needed(&shape);
        if bytes > self.budget {
            return Err(LoadError::OverBudget {
                shape: *digest,
                needed: bytes,
                budget: self.budget,
            });
        }
        self.fetch(|source, store| source.fetch(store, Artifact::Key(*digest)).map(drop))?;
        let key = self.store.open_key(*digest)?;
        key.fits(&shape).map_err(|source| StoreError::Key {
            path: self.store.key_path(*digest),
            source,
        })?;
        self.make_room(bytes);
        let verifying_key = key.vk.prepare();
        let verifying_key_digest = key.vk.digest();
        let circuit = Arc::new(ResidentCircuit {
            circuit: self.backend.load(Arc::new(shape), Arc::new(key))?,
            verifying_key,
            verifying_key_digest,
        });
        self.entries.lock().push(Entry {
            shape: *digest,
            bytes,
            circuit: Arc::clone(&circuit),
        });
        Ok(circuit)
    }

    /// Brings what the store lacks, where there is a source.
    fn fetch(
        &self,
        fetch: impl Fn(&ArtifactSource, &Store) -> Result<(), DistributionError>,
    ) -> Result<(), LoadError> {
        if let Some(source) = &self.source {
            fetch(source, &self.store).map_err(|error| LoadError::Distribution(Box::new(error)))?;
        }
        Ok(())
    }

    fn make_room(&self, bytes: u64) {
        let mut entries = self.entries.lock();
        let mut resident: u64 = entries.iter().map(|entry| entry.bytes).sum();
        let too_many = entries
            .iter()
            .take_while(|entry| {
                let is_over = resident + bytes > self.budget;
                if is_over {
                    resident -= entry.bytes;
                }
                is_over
            })
            .count();
        for entry in entries.drain(..too_many) {
            tracing::info!(shape = %entry.shape, bytes = entry.bytes, "circuit leaves the device");
        }
    }
}

impl<B: Backend> fmt::Debug for ResidentCircuits<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidentCircuits")
            .field("store", &self.store)
            .field("budget", &self.budget)
            .field("warm", &self.warm())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
