//! Splits an input; the result is a plan.

use proofmill_shared::membership::AttemptJournal;

use super::{Scene, TaskError};
use crate::circuit::{ParsedInput, RegisteredCircuit};

/// The input was checked when it was parsed: what is left is to count.
pub(crate) fn plan(
    scene: &Scene<'_>,
    circuit: &RegisteredCircuit,
    input: &ParsedInput,
    journal: &mut AttemptJournal,
) -> Result<(), TaskError> {
    let plan = circuit.plan(input)?;
    let result = serde_json::to_vec(&plan)?;
    let partitions = u64::from(plan.partition_count);
    let ended = journal.now();
    scene.note_end(journal, ended, &[("partitions", partitions)]);
    scene.store(journal, result)
}
