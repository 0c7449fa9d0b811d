//! Waits for a job's end by long polls, over restarts of the coordinator, with progress for whoever watches.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use proofmill_coordinator::api::JobAnswer;
use proofmill_coordinator::view::PartitionState;
use tokio::time::{Instant, sleep};

use crate::client::{Client, ClientError};
use crate::error::CliError;
use crate::output::{Output, word};

/// One long poll while nobody watches.
const POLL: Duration = Duration::from_secs(30);

/// One long poll while somebody watches the progress.
const WATCHED_POLL: Duration = Duration::from_secs(1);

/// How long a coordinator may be gone (restarting, handing over) before waiting for it ends.
const GONE_LIMIT: Duration = Duration::from_secs(30);

/// Pause between attempts to reach a coordinator that is gone.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);

/// Time between two pictures of the spinner.
const SPINNER_TICK: Duration = Duration::from_millis(120);

/// Waits until the job has ended or the time is up, and answers with where it stands then.
pub(crate) async fn until_ended(
    client: &Client,
    mut answer: JobAnswer,
    limit: Option<Duration>,
    output: &Output,
) -> Result<JobAnswer, CliError> {
    let started = Instant::now();
    let bar = output.is_watched().then(progress_bar);
    let poll = if bar.is_some() { WATCHED_POLL } else { POLL };
    let mut gone_since: Option<Instant> = None;
    while !answer.job.state.is_terminal() {
        if let Some(bar) = &bar {
            bar.set_message(progress(&answer));
        }
        let left = limit.map_or(poll, |limit| limit.saturating_sub(started.elapsed()));
        if left.is_zero() {
            output.note("the time is up; the job goes on");
            break;
        }
        match client.job(answer.job.id, poll.min(left)).await {
            Ok(newer) => {
                answer = newer;
                gone_since = None;
            }
            Err(error) => {
                let since = *gone_since.get_or_insert_with(Instant::now);
                give_up_if_gone(error, since)?;
                sleep(RECONNECT_PAUSE.min(left)).await;
            }
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(answer)
}

fn give_up_if_gone(error: ClientError, since: Instant) -> Result<(), ClientError> {
    if error.is_transient() && since.elapsed() < GONE_LIMIT {
        Ok(())
    } else {
        Err(error)
    }
}

fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::default_spinner());
    bar.enable_steady_tick(SPINNER_TICK);
    bar
}

fn progress(answer: &JobAnswer) -> String {
    let partitions = &answer.job.partitions;
    let proved = partitions
        .iter()
        .filter(|partition| partition.state == PartitionState::Proved)
        .count();
    format!(
        "{}, {proved} of {} partitions proved",
        word(&answer.job.state),
        partitions.len()
    )
}
