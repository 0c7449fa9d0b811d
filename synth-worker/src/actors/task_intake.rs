//! Passes tasks from the inbox to free slots.

use std::sync::Arc;

use actix::{Actor, ActorContext, Addr, AsyncContext, Context, StreamHandler};
use futures::stream;
use proofmill_shared::membership::{Assigned, AttemptJournal, JournalContext};
use tokio::sync::mpsc;

use super::Synthesizer;
use super::synthesizer::RunTask;

/// Owns nothing but the way to the slots; receives assigned tasks from the inbox; sends [`RunTask`] to the slots, which
/// take them in order; ends when the inbox does. The coordinator's credits bound how many tasks wait.
pub(crate) struct TaskIntake {
    journal: Arc<JournalContext>,
    slots: Addr<Synthesizer>,
}

impl TaskIntake {
    pub(crate) fn start_on(
        journal: Arc<JournalContext>,
        slots: Addr<Synthesizer>,
        tasks: mpsc::Receiver<Assigned>,
    ) -> Addr<Self> {
        Self::create(|context| {
            let tasks = stream::unfold(tasks, |mut tasks| async {
                tasks.recv().await.map(|task| (task, tasks))
            });
            context.add_stream(tasks);
            Self { journal, slots }
        })
    }
}

impl Actor for TaskIntake {
    type Context = Context<Self>;
}

impl StreamHandler<Assigned> for TaskIntake {
    fn handle(&mut self, assigned: Assigned, _context: &mut Self::Context) {
        let Assigned {
            task,
            trace,
            ticket,
        } = assigned;
        let journal = AttemptJournal::open(
            Arc::clone(&self.journal),
            *task.key(),
            task.circuit().clone(),
            trace,
        );
        // The mailbox has no bound of its own: the coordinator's credits bound what this worker holds.
        self.slots.do_send(RunTask {
            task,
            journal,
            ticket,
        });
    }

    fn finished(&mut self, context: &mut Self::Context) {
        context.stop();
    }
}
