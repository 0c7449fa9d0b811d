//! Joins the proofs of all partitions; the result is the job's output.

use proofmill_shared::broker::BrokerHandle;
use proofmill_shared::groth16::{Scalar, public_inputs_from_words};
use proofmill_shared::membership::AttemptJournal;
use proofmill_shared::protocol::{FinishTask, PartitionProof, Unit};

use super::{Scene, TaskError};
use crate::circuit::{CircuitError, ParsedInput, RegisteredCircuit};

pub(crate) fn finish(
    scene: &Scene<'_>,
    circuit: &RegisteredCircuit,
    input: &ParsedInput,
    task: &FinishTask,
    journal: &mut AttemptJournal,
) -> Result<(), TaskError> {
    let proofs: Vec<Vec<Scalar>> = (0..task.partition_count)
        .map(|partition| load_public_inputs(scene, partition, journal))
        .collect::<Result<_, _>>()?;
    let result = serde_json::to_vec(&circuit.finish(input, &proofs)?)?;
    let ended = journal.now();
    scene.note_end(journal, ended, &[]);
    scene.store(journal, result)
}

/// Public inputs of a partition's proof. Only verified proofs are stored.
fn load_public_inputs(
    scene: &Scene<'_>,
    partition: u32,
    journal: &AttemptJournal,
) -> Result<Vec<Scalar>, TaskError> {
    scene.check_wanted()?;
    let (job, unit) = (journal.key().job, Unit::Partition(partition));
    let load = async |broker: &BrokerHandle| broker.load_result(job, unit).await;
    let stored = scene.call(journal, load)?;
    let proof = stored.ok_or(TaskError::MissingProof(partition))?;
    let proof: PartitionProof = serde_json::from_slice(&proof)?;
    let inputs = public_inputs_from_words(&proof.public_inputs).map_err(|index| {
        let reason = format!("public input {index} of proof {partition} is not below the modulus");
        CircuitError::OutputMismatch { reason }
    })?;
    Ok(inputs)
}
