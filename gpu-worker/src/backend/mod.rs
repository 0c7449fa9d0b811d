//! What a device must do for a proof. All backends agree bit for bit on the same blinding factors.
//!
//! *Layout*: `cpu` (all cores of the host), `size` (bytes of shapes and keys in main memory). A backend for another device implements [`Backend`]: its associated types are
//! handles of what lies on the device, so that between the upload of a witness and the results of the multiplications
//! nothing large comes back.

use std::sync::Arc;

use proofmill_shared::groth16::{Assignment, KeyError, ProvingKey, Shape};

use crate::prover::{MsmResults, ProveError, StepObserver};

pub mod cpu;
mod size;

/// A device that holds circuits and computes the steps of proofs.
pub trait Backend: Send + Sync + 'static {
    /// Shape and key as they lie on the device.
    type Circuit: LoadedCircuit;
    /// One assignment on the device; gone with the proof.
    type Witness<'a>;
    /// a = A·w and b = B·w on the device.
    type Evaluations;
    /// The coefficients of h on the device.
    type Quotient;

    /// Short name: `cpu`, `opencl`.
    fn name(&self) -> &'static str;

    /// The device for people, such as `cpu (2 threads)`.
    fn describe(&self) -> String;

    /// Bytes that a loaded circuit of this shape takes where space is scarce: device memory, or main memory on the CPU.
    fn bytes_needed(&self, shape: &Shape) -> u64;

    /// Brings shape and key onto the device, where they stay until the handle is dropped.
    ///
    /// # Errors
    /// [`BackendError::Key`] if the queries have other lengths than the shape demands;
    /// [`BackendError::TooLarge`] if the device cannot hold or address the circuit.
    fn load(&self, shape: Arc<Shape>, key: Arc<ProvingKey>) -> Result<Self::Circuit, BackendError>;

    /// Brings an assignment onto the device; it has been checked to fit the circuit's shape.
    ///
    /// # Errors
    /// [`BackendError`] if the device fails.
    fn upload<'a>(
        &self,
        circuit: &Self::Circuit,
        assignment: &'a Assignment,
    ) -> Result<Self::Witness<'a>, BackendError>;

    /// Evaluates the matrices A and B on a witness.
    ///
    /// # Errors
    /// [`BackendError`] if the device fails.
    fn evaluate(
        &self,
        circuit: &Self::Circuit,
        witness: &Self::Witness<'_>,
    ) -> Result<Self::Evaluations, BackendError>;

    /// Computes h.
    ///
    /// # Errors
    /// [`BackendError`] if the device fails.
    fn quotient(
        &self,
        circuit: &Self::Circuit,
        evaluations: Self::Evaluations,
    ) -> Result<Self::Quotient, BackendError>;

    /// Computes the five multiplications, in whatever order and overlap suits the device, and reports each to the
    /// observer as a step.
    ///
    /// # Errors
    /// [`ProveError::Cancelled`] if the observer asks to stop; [`ProveError::Backend`] if the device fails.
    fn multiply(
        &self,
        circuit: &Self::Circuit,
        witness: Self::Witness<'_>,
        quotient: Self::Quotient,
        observer: &dyn StepObserver,
    ) -> Result<MsmResults, ProveError>;
}

/// A circuit on a device.
pub trait LoadedCircuit: Send + Sync + 'static {
    /// The shape.
    fn shape(&self) -> &Shape;

    /// The key; where the device holds the queries, those here may be empty.
    fn key(&self) -> &ProvingKey;
}

/// Why a device could not do its part.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The key belongs to another circuit.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The circuit is beyond what the device or its code can handle.
    #[error("{what} is {found}, and this device handles at most {most}: split the circuit")]
    TooLarge {
        /// Which measure of the circuit.
        what: &'static str,
        /// Its value.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// The system refuses the worker threads.
    #[error("proving threads could not be started: allow the process more threads")]
    Threads(#[source] rayon::ThreadPoolBuildError),
}
