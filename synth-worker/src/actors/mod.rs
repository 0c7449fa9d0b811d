//! The actors of a synth worker.
//!
//! *Layout*: `task_intake` (tasks from the inbox to free slots), `synthesizer` (one slot, one thread), `tasks` (what a
//! slot does: plan, synthesize, finish), `inputs` (parsed inputs of the jobs at hand).

mod inputs;
mod synthesizer;
mod task_intake;
mod tasks;

pub(crate) use inputs::InputCache;
pub(crate) use synthesizer::Synthesizer;
pub(crate) use task_intake::TaskIntake;
