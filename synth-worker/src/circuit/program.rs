//! The trait through which a circuit joins the cluster.

use bellperson::Circuit;
use proofmill_shared::groth16::Scalar;
use proofmill_shared::protocol::CircuitId;
use serde_json::Value;

use super::CircuitError;

/// A circuit family: how an input is checked and split, and what a proof of each part says.
///
/// All partitions have one shape. Everything here runs in synth workers, where a panic is one task's failure.
pub trait CircuitProgram: Send + Sync + 'static {
    /// A checked input.
    type Input: Send + Sync + 'static;
    /// One partition's circuit.
    type Circuit: Circuit<Scalar>;

    /// Name and version; the version changes with the constraints or the meaning of an input.
    fn id(&self) -> CircuitId;

    /// What a proof says, one sentence.
    fn statement(&self) -> String;

    /// What an input looks like, one sentence.
    fn input_format(&self) -> String;

    /// Checks an input as the client sent it: JSON text or bytes.
    ///
    /// # Errors
    /// [`CircuitError::MalformedInput`] or [`CircuitError::InputTooLarge`], saying what is wrong and where.
    fn parse(&self, raw: &[u8]) -> Result<Self::Input, CircuitError>;

    /// Number of partitions an input makes, at least 1.
    fn partition_count(&self, input: &Self::Input) -> u32;

    /// One line about an input for people, without anything secret.
    fn summary(&self, input: &Self::Input) -> String;

    /// A circuit without values, from which the shape is recorded.
    fn blank(&self) -> Self::Circuit;

    /// The circuit of one partition, with its values.
    ///
    /// # Errors
    /// Any [`CircuitError`] about the input.
    fn circuit(&self, input: &Self::Input, partition: u32) -> Result<Self::Circuit, CircuitError>;

    /// Public inputs of one partition, without the leading one.
    ///
    /// # Errors
    /// Any [`CircuitError`] about the input.
    fn public_inputs(
        &self,
        input: &Self::Input,
        partition: u32,
    ) -> Result<Vec<Scalar>, CircuitError>;

    /// Joins the public inputs of all proofs, in order, into the job's output. The default says how many there are:
    /// right for circuits whose partitions have nothing to do with each other.
    ///
    /// # Errors
    /// [`CircuitError::OutputMismatch`] where they do not join.
    fn finish(&self, _input: &Self::Input, proofs: &[Vec<Scalar>]) -> Result<Value, CircuitError> {
        Ok(serde_json::json!({ "partitions": proofs.len() }))
    }
}
