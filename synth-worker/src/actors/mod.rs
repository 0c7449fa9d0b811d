//! The actors of a synth worker.
//!
//! *Layout*: `task_intake` (tasks from the inbox to free slots), `synthesizer` (one slot, one thread), `tasks` (what a
//! slot does: plan, synthesize and ship, finish), `inputs` (parsed inputs of the jobs at hand), `patience` (broker calls
//! that outlast a broker's absence).

mod inputs;
mod patience;
mod synthesizer;
mod task_intake;
mod tasks;

pub(crate) use inputs::InputCache;
pub(crate) use synthesizer::{DrainFlag, Synthesizer};
pub(crate) use task_intake::TaskIntake;
