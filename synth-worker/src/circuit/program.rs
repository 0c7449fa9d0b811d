//! The trait through which a circuit joins the cluster.

use bellperson::Circuit;
use proofmill_shared::groth16::Scalar;
use proofmill_shared::protocol::CircuitId;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::CircuitError;

/// Most partitions of one job that a cluster takes: a program refuses an input that makes more, and says what to do.
pub const PARTITIONS_MAX: u32 = 65_536;

/// A circuit family: how an input is checked and split, and what a proof of each part says.
///
/// All partitions of all inputs have one shape. Everything here runs in synth workers, on threads where a panic is one
/// task's failure. Whatever an error or a summary says is shown to people: nothing of a witness belongs there.
pub trait CircuitProgram: Send + Sync + 'static {
    /// A checked input. Parsed once a job and worker, whatever the number of partitions.
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

    /// Number of partitions an input makes, 1 to [`PARTITIONS_MAX`]. The default is 1.
    fn partition_count(&self, _input: &Self::Input) -> u32 {
        1
    }

    /// One line about an input for people, without anything secret. The default says how many partitions it makes.
    fn summary(&self, input: &Self::Input) -> String {
        format!("{} partitions", self.partition_count(input))
    }

    /// A circuit without values, from which the shape is recorded.
    fn blank(&self) -> Self::Circuit;

    /// The circuit of one partition, with its values.
    ///
    /// # Errors
    /// Any [`CircuitError`] about the input.
    fn circuit(&self, input: &Self::Input, partition: u32) -> Result<Self::Circuit, CircuitError>;

    /// Public inputs of one partition, without the leading one: what its proof must be about.
    ///
    /// # Errors
    /// Any [`CircuitError`] about the input.
    fn public_inputs(
        &self,
        input: &Self::Input,
        partition: u32,
    ) -> Result<Vec<Scalar>, CircuitError>;

    /// Joins the public inputs of all proofs, in order of partitions, into the job's output. The default checks that they
    /// are the input's and says how many there are: right for partitions that have nothing to do with each other.
    ///
    /// # Errors
    /// [`CircuitError::OutputMismatch`] where they do not join.
    fn finish(&self, input: &Self::Input, proofs: &[Vec<Scalar>]) -> Result<Value, CircuitError> {
        expect_proofs(proofs.len(), self.partition_count(input))?;
        for (partition, proof) in (0..).zip(proofs) {
            if *proof != self.public_inputs(input, partition)? {
                let reason = format!("proof {partition} is about other public inputs");
                return Err(CircuitError::OutputMismatch { reason });
            }
        }
        Ok(json!({ "partitions": proofs.len() }))
    }
}

/// Reads an input that is JSON; `expected` says in a few words what it should be.
///
/// # Errors
/// [`CircuitError::MalformedInput`] that says where, and nothing of what stands there: it may be secret.
pub fn parse_json<T: DeserializeOwned>(raw: &[u8], expected: &str) -> Result<T, CircuitError> {
    serde_json::from_slice(raw).map_err(|error| CircuitError::malformed_json(&error, expected))
}

/// Checks the number of proofs.
pub(super) fn expect_proofs(found: usize, partitions: u32) -> Result<(), CircuitError> {
    if found == partitions as usize {
        return Ok(());
    }
    let reason = format!("{found} proofs for {partitions} partitions");
    Err(CircuitError::OutputMismatch { reason })
}
