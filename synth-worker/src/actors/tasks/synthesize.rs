//! Computes and checks the witness of one partition, then ships it, with evaluations where they are wanted.

use std::time::Duration;

use proofmill_shared::assignment::PayloadMode;
use proofmill_shared::groth16::{Assignment, Shape};
use proofmill_shared::membership::AttemptJournal;
use proofmill_shared::protocol::SynthTask;
use proofmill_shared::telemetry::spans::names;

use super::shipping::ship;
use super::{Scene, TaskError};
use crate::circuit::{CircuitError, ParsedInput, RegisteredCircuit};
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
    let mut assignment = circuit.witness(input, task.partition)?;
    let built = journal.now();
    journal.record(scene.part(journal, names::SYNTH_WITNESS, began, built));
    scene.check_wanted()?;
    let checked_in = check(scene, &shape, &assignment, task, journal)?;
    scene.check_wanted()?;
    // The check evaluates three matrices, evaluations are of two.
    let evaluate_time = checked_in * 2 / 3;
    let extra_bytes = 64 * shape.num_constraints as u64;
    if scene
        .handoff
        .mode(task.needs_evaluations, extra_bytes, evaluate_time)
        == PayloadMode::Evaluated
    {
        let evaluations = shape.evaluate(&assignment).map_err(CircuitError::from)?;
        assignment.evaluations = Some(evaluations);
    }
    ship(scene, shape.digest, assignment, task, journal)
}

fn check(
    scene: &Scene<'_>,
    shape: &Shape,
    assignment: &Assignment,
    task: &SynthTask,
    journal: &mut AttemptJournal,
) -> Result<Duration, TaskError> {
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
    Ok(ended.since(began))
}
