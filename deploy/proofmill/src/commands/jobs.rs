//! `proofmill jobs`: lists jobs, newest first.

use proofmill_coordinator::api::JobsAnswer;
use proofmill_coordinator::view::{JobView, PartitionState};

use crate::cli::Jobs;
use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, duration, table, utc, word};

/// Lists jobs.
pub(crate) async fn run(client: &Client, args: &Jobs, output: &Output) -> Result<Exit, CliError> {
    let answer = client.jobs(args.before, args.limit).await?;
    output.print(&answer, text)?;
    Ok(Exit::Ok)
}

fn text(answer: &JobsAnswer) -> String {
    if answer.jobs.is_empty() {
        return "no jobs".to_owned();
    }
    let rows = answer.jobs.iter().map(|answer| row(&answer.job));
    let mut text = table(
        [
            "JOB",
            "CIRCUIT",
            "STATE",
            "PROVED",
            "SUBMITTED (UTC)",
            "TOOK",
        ],
        rows,
    );
    if let (Some(_), Some(last)) = (&answer.next, answer.jobs.last()) {
        text.push_str(&format!(
            "\n\nolder ones: proofmill jobs --before {}",
            last.job.id
        ));
    }
    text
}

fn row(job: &JobView) -> [String; 6] {
    let took = job
        .ended_at
        .map_or_else(String::new, |ended| duration(ended.since(job.submitted_at)));
    [
        job.id.to_string(),
        job.circuit.to_string(),
        word(&job.state),
        proved(job),
        utc(job.submitted_at),
        took,
    ]
}

/// How many partitions have their proof, of how many.
fn proved(job: &JobView) -> String {
    let proved = job
        .partitions
        .iter()
        .filter(|partition| partition.state == PartitionState::Proved)
        .count();
    match job.partitions.len() {
        0 => String::new(),
        all => format!("{proved}/{all}"),
    }
}
