//! Computes and checks the witness of one partition, then ships it, with evaluations where they are wanted.

use std::time::Duration;

use proofmill_shared::assignment::{AssignmentFacts, PayloadMode};
use proofmill_shared::broker::PayloadKey;
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
    let facts = facts(task, &shape);
    let reserving = scene
        .handoff
        .reserve(&facts, task.needs_evaluations, || scene.cancel.is_raised());
    // Held until the assignment is shipped.
    let mut share = scene.runtime.block_on(reserving)?;
    let began = journal.now();
    let mut assignment = circuit.witness(input, task.partition)?;
    let built = journal.now();
    journal.record(scene.part(journal, names::SYNTH_WITNESS, began, built));
    scene.check_wanted()?;
    let checked_in = check(scene, &shape, &assignment, task, journal)?;
    scene.check_wanted()?;
    // The check evaluates three matrices, evaluations are of two.
    let evaluate_time = checked_in * 2 / 3;
    let mode = scene
        .handoff
        .mode(&facts, task.needs_evaluations, evaluate_time, &mut share);
    if mode == PayloadMode::Evaluated {
        let evaluations = shape.evaluate(&assignment).map_err(CircuitError::from)?;
        assignment.evaluations = Some(evaluations);
    }
    ship(scene, facts, assignment, journal)
}

fn facts(task: &SynthTask, shape: &Shape) -> AssignmentFacts {
    AssignmentFacts {
        key: PayloadKey {
            job: task.key.job,
            partition: task.partition,
            attempt: task.key.attempt,
        },
        shape: shape.digest,
        num_inputs: shape.num_inputs,
        num_aux: shape.num_aux,
        num_constraints: shape.num_constraints,
    }
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
