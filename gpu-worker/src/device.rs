//! The device that a worker proves on: which one, why, and whether it computes right.
//!
//! *Layout*: `known_answer` (the proof that a device must make before it gets work).

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use proofmill_shared::config::ShapeResidency;
use proofmill_shared::distribution::ArtifactSource;
use proofmill_shared::groth16::{Assignment, Store, VerifiedProof};
use proofmill_shared::protocol::{DeviceRecord, Digest, TaskFailure};
use serde::{Deserialize, Serialize};

use crate::backend::cpu::CpuBackend;
use crate::backend::{Backend, BackendError, LoadedCircuit};
use crate::prover::{BlindingFactors, ProveError, StepObserver, prove_and_verify};
use crate::proving_key::{LoadError, ResidentCircuits};

mod known_answer;

/// Which device the operator wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceChoice {
    /// The best one there is.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
}

impl FromStr for DeviceChoice {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, DeviceError> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            _ => Err(DeviceError::UnknownChoice(text.to_owned())),
        }
    }
}

/// How a device is opened.
#[derive(Debug, Clone)]
pub struct DeviceOptions {
    /// Which device.
    pub choice: DeviceChoice,
    /// Threads of the CPU backend; one for each core if not given.
    pub num_threads: Option<NonZeroUsize>,
    /// Where shapes and keys are.
    pub store: Store,
    /// Where shapes and keys come from that are not there.
    pub source: Option<ArtifactSource>,
    /// How much of shapes is held.
    pub shapes: ShapeResidency,
    /// Bytes that circuits may take on the device between proofs.
    pub resident_budget: u64,
}

/// Why there is no device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// A device name that is not known.
    #[error("{0:?} is not a device: choose auto or cpu")]
    UnknownChoice(String),
    /// The device cannot be opened.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The device computes wrong, or cannot prove at all.
    #[error("device {device} failed the known-answer proof: do not use it")]
    KnownAnswer {
        /// The device.
        device: String,
        /// How it failed.
        #[source]
        source: Box<ProveError>,
    },
}

/// A device that passed the known-answer proof, with the circuits on it.
pub struct Device {
    record: DeviceRecord,
    prover: Box<dyn Prover>,
}

/// A circuit that is on the device, as whoever fetches assignments of it must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceCircuit {
    /// How long reading, checking and uploading took; `None` if it was there.
    pub load_time: Option<Duration>,
    /// Public inputs with the leading one.
    pub num_inputs: usize,
    /// Private variables.
    pub num_aux: usize,
    /// Constraints.
    pub num_constraints: usize,
}

/// A proof with the key it was verified with.
#[derive(Debug)]
pub struct DeviceProof {
    /// The proof.
    pub proof: VerifiedProof,
    /// BLAKE3 digest of the verifying key.
    pub verifying_key: Digest,
}

/// Why a device gave no proof.
#[derive(Debug, thiserror::Error)]
pub enum DeviceProofError {
    /// The circuit cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The proof cannot be made.
    #[error(transparent)]
    Prove(#[from] ProveError),
}

impl DeviceProofError {
    /// What the failure means for the job.
    #[must_use]
    pub fn failure(&self) -> TaskFailure {
        match self {
            Self::Load(error) => error.failure(),
            Self::Prove(error) => error.failure(),
        }
    }

    /// True if whoever asked for the proof no longer wants it.
    #[must_use]
    pub const fn is_cancelled(&self) -> bool {
        matches!(self, Self::Prove(ProveError::Cancelled))
    }
}

impl Device {
    /// Opens the device and has it make the known-answer proof, which takes about a tenth of a second.
    ///
    /// # Errors
    /// [`DeviceError::Backend`] if it cannot be opened; [`DeviceError::KnownAnswer`] if its proof is wrong.
    pub fn open(options: DeviceOptions) -> Result<Self, DeviceError> {
        let reason = match options.choice {
            DeviceChoice::Auto => "auto: this build has no other backend than cpu",
            DeviceChoice::Cpu => "chosen by configuration",
        };
        let backend = CpuBackend::new(options.num_threads)?;
        Self::with_backend(backend, reason, options)
    }

    fn with_backend<B: Backend>(
        backend: B,
        reason: &str,
        options: DeviceOptions,
    ) -> Result<Self, DeviceError> {
        let record = DeviceRecord {
            name: backend.describe(),
            backend: backend.name().to_owned(),
            reason: reason.to_owned(),
        };
        known_answer::check(&backend).map_err(|source| DeviceError::KnownAnswer {
            device: record.name.clone(),
            source: Box::new(source),
        })?;
        let backend = Arc::new(backend);
        let circuits = ResidentCircuits::new(
            Arc::clone(&backend),
            options.store,
            options.source,
            options.shapes,
            options.resident_budget,
        );
        Ok(Self {
            record,
            prover: Box::new(BackendProver { backend, circuits }),
        })
    }

    /// What the worker's record says of the device.
    #[must_use]
    pub const fn record(&self) -> &DeviceRecord {
        &self.record
    }

    /// Shapes on the device, the most recently used last.
    #[must_use]
    pub fn warm(&self) -> Vec<Digest> {
        self.prover.warm()
    }

    /// Brings the circuit of a shape onto the device, ahead of its proof. Blocks: the key is read and checked.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn load(&self, shape: &Digest) -> Result<DeviceCircuit, LoadError> {
        self.prover.load(shape)
    }

    /// Proves and verifies. Blocks for as long as that takes; loads the circuit if it is not on the device.
    ///
    /// # Errors
    /// [`DeviceProofError`].
    pub fn prove(
        &self,
        shape: &Digest,
        assignment: &Assignment,
        blinding: &BlindingFactors,
        observer: &dyn StepObserver,
    ) -> Result<DeviceProof, DeviceProofError> {
        self.prover.prove(shape, assignment, blinding, observer)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("record", &self.record)
            .field("warm", &self.warm())
            .finish_non_exhaustive()
    }
}

/// A backend with its circuits, whatever its types.
trait Prover: Send + Sync {
    fn warm(&self) -> Vec<Digest>;

    fn load(&self, shape: &Digest) -> Result<DeviceCircuit, LoadError>;

    fn prove(
        &self,
        shape: &Digest,
        assignment: &Assignment,
        blinding: &BlindingFactors,
        observer: &dyn StepObserver,
    ) -> Result<DeviceProof, DeviceProofError>;
}

struct BackendProver<B: Backend> {
    backend: Arc<B>,
    circuits: ResidentCircuits<B>,
}

impl<B: Backend> Prover for BackendProver<B> {
    fn warm(&self) -> Vec<Digest> {
        self.circuits.warm()
    }

    fn load(&self, shape: &Digest) -> Result<DeviceCircuit, LoadError> {
        let loaded = self.circuits.get(shape)?;
        let shape = loaded.circuit.circuit().shape();
        Ok(DeviceCircuit {
            load_time: loaded.load_time,
            num_inputs: shape.num_inputs,
            num_aux: shape.num_aux,
            num_constraints: shape.num_constraints,
        })
    }

    fn prove(
        &self,
        shape: &Digest,
        assignment: &Assignment,
        blinding: &BlindingFactors,
        observer: &dyn StepObserver,
    ) -> Result<DeviceProof, DeviceProofError> {
        let circuit = self.circuits.get(shape)?.circuit;
        let proof = prove_and_verify(
            &*self.backend,
            circuit.circuit(),
            circuit.verifying_key(),
            assignment,
            blinding,
            observer,
        )?;
        Ok(DeviceProof {
            proof,
            verifying_key: circuit.verifying_key_digest(),
        })
    }
}

#[cfg(test)]
mod tests;
