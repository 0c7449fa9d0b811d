//! `proofmill verify`: verifies a proof file offline.

use std::path::{Path, PathBuf};

use proofmill_coordinator::api::ProofAnswer;
use proofmill_shared::groth16::{
    PreparedVerifyingKey, Proof, ProofError, Scalar, VerifyError, VerifyingKey, scalar_from_be,
};
use proofmill_shared::protocol::{CircuitId, Digest, JobId, PartitionProof};
use proofmill_synth_worker::circuit::{CircuitRegistry, RegisteredCircuit};
use serde::Serialize;

use crate::cli::Verify;
use crate::error::CliError;
use crate::exit::Exit;
use crate::files::{self, INPUT_BYTES_MAX};
use crate::output::Output;
use crate::store;

/// Largest proof file read, in bytes: a partition takes about 1 KiB.
const PROOF_FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Why a proof file is not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VerificationError {
    /// It is no proof file.
    #[error(
        "{} is not a proof file ({detail}): fetch one with `proofmill proof ID --out FILE`",
        path.display()
    )]
    NotAProofFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// It proves something about another circuit.
    #[error("the proof is of circuit {found}, not of {expected}")]
    OtherCircuit {
        /// What was asked for.
        expected: CircuitId,
        /// What it says.
        found: CircuitId,
    },
    /// It was made with other parameters.
    #[error(
        "partition {partition} was proved under verifying key {found}, these parameters have {expected}: use the cluster's params file with --params"
    )]
    OtherKey {
        /// Index of the partition.
        partition: usize,
        /// Of the parameters.
        expected: Digest,
        /// Of the proof.
        found: Digest,
    },
    /// The bytes are no proof.
    #[error("partition {partition} does not hold a proof")]
    Malformed {
        /// Index of the partition.
        partition: usize,
        /// What is wrong with it.
        #[source]
        source: ProofError,
    },
    /// A public input is not below the field's modulus.
    #[error("public input {index} of partition {partition} is no element of the scalar field")]
    NotAScalar {
        /// Index of the partition.
        partition: usize,
        /// Index of the public input.
        index: usize,
    },
    /// The proof is not valid.
    #[error("partition {partition} is not proved")]
    Invalid {
        /// Index of the partition.
        partition: usize,
        /// What verification says.
        #[source]
        source: VerifyError,
    },
    /// The proofs are valid, and about something else.
    #[error(
        "the proofs are valid, and the output they give for this input is not the one in the file"
    )]
    OtherOutput,
}

impl VerificationError {
    /// A stable code for programs.
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::NotAProofFile { .. } => "bad-proof-file",
            Self::OtherCircuit { .. } => "other-circuit",
            Self::OtherKey { .. } => "other-key",
            Self::Malformed { .. } => "malformed-proof",
            Self::NotAScalar { .. } => "malformed-public-input",
            Self::Invalid { .. } => "invalid-proof",
            Self::OtherOutput => "other-output",
        }
    }
}

/// What was verified.
#[derive(Debug, Serialize)]
struct Verified {
    id: JobId,
    circuit: CircuitId,
    statement: String,
    partitions: usize,
    verifying_key: Digest,
    output: serde_json::Value,
    /// True if the output was recomputed from the proofs and the input.
    is_output_checked: bool,
}

/// Verifies every proof of a file and, with the input at hand, what they mean together.
pub(crate) fn run(args: &Verify, output: &Output) -> Result<Exit, CliError> {
    let answer = read_proof(&args.proof)?;
    let expected = args.circuit.as_ref();
    if let Some(expected) = expected.filter(|expected| **expected != answer.circuit) {
        return Err(VerificationError::OtherCircuit {
            expected: expected.clone(),
            found: answer.circuit,
        }
        .into());
    }
    let registry = CircuitRegistry::builtin();
    let circuit = registry.get(&answer.circuit)?;
    let shape = circuit.shape()?;
    let key = store::key(&shape, args.params.as_deref())?.vk;
    let public_inputs = verify_all(&answer.partitions, &key)?;
    if let Some(path) = &args.input {
        let input = files::read(path, INPUT_BYTES_MAX)?;
        check_output(circuit, &input, &public_inputs, &answer.output)?;
    }
    let verified = Verified {
        id: answer.id,
        circuit: answer.circuit,
        statement: circuit.record()?.statement,
        partitions: answer.partitions.len(),
        verifying_key: key.digest(),
        output: answer.output,
        is_output_checked: args.input.is_some(),
    };
    output.print(&verified, text)?;
    Ok(Exit::Ok)
}

fn read_proof(path: &Path) -> Result<ProofAnswer, CliError> {
    let refuse = |detail: String| VerificationError::NotAProofFile {
        path: path.to_owned(),
        detail,
    };
    let bytes = files::read(path, PROOF_FILE_BYTES_MAX)?;
    let answer: ProofAnswer =
        serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
    if answer.partitions.is_empty() {
        return Err(refuse("it holds no partition".to_owned()).into());
    }
    Ok(answer)
}

/// Verifies each partition's proof, and answers with the public inputs they are proved for.
pub(crate) fn verify_all(
    partitions: &[PartitionProof],
    key: &VerifyingKey,
) -> Result<Vec<Vec<Scalar>>, VerificationError> {
    let (expected, prepared) = (key.digest(), key.prepare());
    let verify = |(partition, proof): (usize, &PartitionProof)| {
        if proof.verifying_key != expected {
            return Err(VerificationError::OtherKey {
                partition,
                expected,
                found: proof.verifying_key,
            });
        }
        verify_one(partition, proof, &prepared)
    };
    partitions.iter().enumerate().map(verify).collect()
}

fn verify_one(
    partition: usize,
    proof: &PartitionProof,
    key: &PreparedVerifyingKey,
) -> Result<Vec<Scalar>, VerificationError> {
    let public_inputs: Vec<Scalar> = proof
        .public_inputs
        .iter()
        .enumerate()
        .map(|(index, word)| {
            let scalar = scalar_from_be(&word.0);
            scalar.map_err(|_| VerificationError::NotAScalar { partition, index })
        })
        .collect::<Result<_, _>>()?;
    let proof = Proof::from_bytes(&proof.proof)
        .map_err(|source| VerificationError::Malformed { partition, source })?;
    let verified = proof
        .verify(key, &public_inputs)
        .map_err(|source| VerificationError::Invalid { partition, source })?;
    Ok(verified.public_inputs().to_vec())
}

/// Joins the proofs as the circuit program does, and compares.
fn check_output(
    circuit: &RegisteredCircuit,
    input: &[u8],
    public_inputs: &[Vec<Scalar>],
    stated: &serde_json::Value,
) -> Result<(), CliError> {
    let input = circuit.parse(input)?;
    if circuit.finish(&input, public_inputs)? == *stated {
        Ok(())
    } else {
        Err(VerificationError::OtherOutput.into())
    }
}

fn text(verified: &Verified) -> String {
    let proofs = match verified.partitions {
        1 => "1 proof is valid".to_owned(),
        many => format!("{many} proofs are valid"),
    };
    let trust = if verified.is_output_checked {
        "follows from the proofs and the input"
    } else {
        "as the cluster states it; give --input FILE to check it too"
    };
    format!(
        "{proofs}: {}\nkey      {}\noutput   {}\n         ({trust})",
        verified.statement, verified.verifying_key, verified.output
    )
}
