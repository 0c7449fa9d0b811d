//! Computes and checks the witness of one partition, then ships it.

use proofmill_shared::groth16::{Assignment, Shape};
use proofmill_shared::membership::AttemptJournal;
use proofmill_shared::protocol::SynthTask;
use proofmill_shared::telemetry::spans::names;

use super::shipping::ship;
use super::{Scene, TaskError};
use crate::circuit::{ParsedInput, RegisteredCircuit};
use crate::witness;

pub(crate) fn synthesize(
    scene: &Scene<'_>,
    circuit: &RegisteredCircuit,
    input: &ParsedInput,
    task: &SynthTask,
    journal: &mut AttemptJournal,
) -> Result<(), TaskError> {
    let shape = circuit.shape()?;
    let began = journal.now();
    let assignment = circuit.witness(input, task.partition)?;
    let built = journal.now();
    journal.record(scene.part(journal, names::SYNTH_WITNESS, began, built));
    scene.check_wanted()?;
    check(scene, &shape, &assignment, task, journal)?;
    scene.check_wanted()?;
    ship(scene, shape.digest, assignment, task, journal)
}

fn check(
    scene: &Scene<'_>,
    shape: &Shape,
    assignment: &Assignment,
    task: &SynthTask,
    journal: &mut AttemptJournal,
) -> Result<(), TaskError> {
    let began = journal.now();
    let verdict = witness::check(shape, assignment, task.partition);
    let ended = journal.now();
    let part = scene.part(journal, names::SYNTH_CHECK, began, ended);
    journal.record(match &verdict {
        Ok(()) => part,
        Err(error) => part.error(error.to_string()),
    });
    verdict?;
    scene.note_end(journal, ended, &[]);
    Ok(())
}
