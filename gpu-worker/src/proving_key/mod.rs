//! Shapes and keys of the circuits at hand: loaded, checked, kept resident within a byte budget.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use proofmill_shared::groth16::{PreparedVerifyingKey, Store, StoreError};
use proofmill_shared::protocol::{Digest, FailureKind, TaskFailure};

use crate::backend::{Backend, BackendError, LoadedCircuit};

/// Why a circuit is not resident.
#[derive(Debug, thiserror::Error)]
pub enum ResidentError {
    /// Its shape or key cannot be had.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The device cannot take it.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl ResidentError {
    /// What the failure means for the job: this worker cannot prove it, another may.
    #[must_use]
    pub fn failure(&self) -> TaskFailure {
        let code = match self {
            Self::Store(StoreError::MissingShape { .. } | StoreError::MissingKey { .. }) => {
                "key-missing"
            }
            Self::Store(_) => "key-unusable",
            Self::Backend(_) => "device-refused",
        };
        TaskFailure::new(FailureKind::Attempt, code, self.to_string())
    }
}

/// A circuit on the device, with the key its proofs must verify against.
pub struct ResidentCircuit<B: Backend> {
    loaded: B::Circuit,
    verifying_key: PreparedVerifyingKey,
    verifying_key_digest: Digest,
}

impl<B: Backend> fmt::Debug for ResidentCircuit<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidentCircuit")
            .field("shape", &self.loaded.shape().digest)
            .finish_non_exhaustive()
    }
}

impl<B: Backend> ResidentCircuit<B> {
    /// Loads a circuit from the store onto a device; the key is checked in full the first time on this host.
    ///
    /// # Errors
    /// [`ResidentError`] if the store lacks it or the device cannot take it.
    pub fn load(backend: &B, store: &Store, shape: Digest) -> Result<Self, ResidentError> {
        let (shape, key) = (store.shape(shape)?, store.open_key(shape)?);
        let verifying_key = key.vk.prepare();
        let verifying_key_digest = key.vk.digest();
        let loaded = backend.load(Arc::new(shape), Arc::new(key))?;
        Ok(Self {
            loaded,
            verifying_key,
            verifying_key_digest,
        })
    }

    /// The circuit on the device.
    #[must_use]
    pub const fn loaded(&self) -> &B::Circuit {
        &self.loaded
    }

    /// What its proofs must verify against.
    #[must_use]
    pub const fn verifying_key(&self) -> &PreparedVerifyingKey {
        &self.verifying_key
    }

    /// Digest of the verifying key.
    #[must_use]
    pub const fn verifying_key_digest(&self) -> Digest {
        self.verifying_key_digest
    }
}

/// The circuits on one device, most recently used first.
pub struct ResidentCircuits<B: Backend> {
    backend: Arc<B>,
    store: Store,
    budget_bytes: u64,
    resident: Mutex<VecDeque<(Digest, Arc<ResidentCircuit<B>>)>>,
    /// Held while a circuit is loaded: two tasks of one circuit load it once.
    loading: Mutex<()>,
}

impl<B: Backend> fmt::Debug for ResidentCircuits<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidentCircuits")
            .field("budget_bytes", &self.budget_bytes)
            .finish_non_exhaustive()
    }
}

impl<B: Backend> ResidentCircuits<B> {
    /// Circuits of a store on a device. The budget bounds what is kept; the circuit in use may exceed it alone.
    #[must_use]
    pub fn new(backend: Arc<B>, store: Store, budget_bytes: u64) -> Self {
        Self {
            backend,
            store,
            budget_bytes,
            resident: Mutex::default(),
            loading: Mutex::new(()),
        }
    }

    /// A circuit, loaded if it is not resident; may block for as long as reading and checking a key takes.
    ///
    /// # Errors
    /// As [`ResidentCircuit::load`].
    pub fn get(&self, shape: Digest) -> Result<Arc<ResidentCircuit<B>>, ResidentError> {
        if let Some(circuit) = self.touch(shape) {
            return Ok(circuit);
        }
        let _loading = self.loading.lock();
        if let Some(circuit) = self.touch(shape) {
            return Ok(circuit);
        }
        let circuit = Arc::new(ResidentCircuit::load(&*self.backend, &self.store, shape)?);
        tracing::info!(%shape, bytes = circuit.loaded.resident_bytes(), "circuit is resident");
        let mut resident = self.resident.lock();
        resident.push_front((shape, Arc::clone(&circuit)));
        self.evict(&mut resident);
        Ok(circuit)
    }

    /// Shapes that are resident, most recently used first.
    #[must_use]
    pub fn warm(&self) -> Vec<Digest> {
        self.resident
            .lock()
            .iter()
            .map(|(shape, _)| *shape)
            .collect()
    }

    fn touch(&self, shape: Digest) -> Option<Arc<ResidentCircuit<B>>> {
        let mut resident = self.resident.lock();
        let position = resident.iter().position(|(known, _)| *known == shape)?;
        let entry = resident.remove(position)?;
        let circuit = Arc::clone(&entry.1);
        resident.push_front(entry);
        Some(circuit)
    }

    fn evict(&self, resident: &mut VecDeque<(Digest, Arc<ResidentCircuit<B>>)>) {
        let bytes = |resident: &VecDeque<(Digest, Arc<ResidentCircuit<B>>)>| -> u64 {
            resident
                .iter()
                .map(|(_, circuit)| circuit.loaded.resident_bytes())
                .sum()
        };
        while resident.len() > 1 && bytes(resident) > self.budget_bytes {
            if let Some((shape, _)) = resident.pop_back() {
                tracing::info!(%shape, "least recently used circuit is let go");
            }
        }
    }
}
