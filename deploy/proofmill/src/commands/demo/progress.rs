//! Progress bars while the demo works.

use std::collections::HashMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use proofmill_coordinator::handle::JobChange;
use proofmill_coordinator::view::{JobView, PartitionState};
use proofmill_shared::protocol::JobId;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinHandle;

/// Time between two frames of a bar that nothing else moves.
const TICK: Duration = Duration::from_millis(120);

/// Bars that follow the changes of jobs until [`Progress::finish`].
pub(super) struct Progress {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Progress {
    /// Starts to follow; draws only if somebody watches.
    pub(super) fn start(
        changes: broadcast::Receiver<JobChange>,
        jobs: usize,
        is_watched: bool,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(follow(changes, stopped, Bars::new(jobs, is_watched)));
        Self { stop, task }
    }

    pub(super) async fn finish(self) {
        if self.stop.send(()).is_ok() && self.task.await.is_err() {
            tracing::debug!("progress bars ended early");
        }
    }
}

struct Bars {
    group: MultiProgress,
    synthesized: ProgressBar,
    proved: ProgressBar,
    jobs: ProgressBar,
    views: HashMap<JobId, JobView>,
}

impl Bars {
    fn new(jobs: usize, is_watched: bool) -> Self {
        let target = if is_watched {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let group = MultiProgress::with_draw_target(target);
        let bar = |name: &'static str, length: u64| {
            let template = "  {prefix:<12} {bar:32.cyan/blue} {pos:>5}/{len:<5} {elapsed}";
            let style = ProgressStyle::with_template(template)
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = group.add(ProgressBar::new(length).with_style(style).with_prefix(name));
            bar.enable_steady_tick(TICK);
            bar
        };
        let (synthesized, proved) = (bar("synthesized", 0), bar("proved", 0));
        let done = bar("jobs done", jobs as u64);
        Self {
            synthesized,
            proved,
            jobs: done,
            views: HashMap::new(),
            group,
        }
    }

    fn show(&mut self, view: JobView) {
        self.views.insert(view.id, view);
        let partitions = || self.views.values().flat_map(|view| &view.partitions);
        let count = |states: &[PartitionState]| {
            partitions()
                .filter(|partition| states.contains(&partition.state))
                .count() as u64
        };
        let total = partitions().count() as u64;
        let shipped = [
            PartitionState::Shipped,
            PartitionState::Proving,
            PartitionState::Proved,
        ];
        self.synthesized.set_length(total);
        self.proved.set_length(total);
        self.synthesized.set_position(count(&shipped));
        self.proved.set_position(count(&[PartitionState::Proved]));
        let done = self
            .views
            .values()
            .filter(|view| view.state.is_terminal())
            .count();
        self.jobs.set_position(done as u64);
    }

    fn clear(&self) {
        if self.group.clear().is_err() {
            tracing::debug!("progress bars could not be cleared");
        }
    }
}

async fn follow(
    mut changes: broadcast::Receiver<JobChange>,
    mut stopped: oneshot::Receiver<()>,
    mut bars: Bars,
) {
    loop {
        let change = tokio::select! {
            _ = &mut stopped => break,
            change = changes.recv() => change,
        };
        match change {
            Ok(change) => bars.show((*change.view).clone()),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => break,
        }
    }
    bars.clear();
}
