//! `proofmill timeline`: shows what happened to a job.

use proofmill_coordinator::api::TimelineAnswer;

use crate::cli::Timeline;
use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, table, word};

/// Shows a job's events.
pub(crate) async fn run(
    client: &Client,
    args: &Timeline,
    output: &Output,
) -> Result<Exit, CliError> {
    let answer = client.timeline(args.id).await?;
    output.print(&answer, text)?;
    Ok(Exit::Ok)
}

fn text(answer: &TimelineAnswer) -> String {
    let Some(first) = answer.records.first() else {
        return "nothing has happened yet".to_owned();
    };
    let rows = answer.records.iter().map(|record| {
        let worker = record.worker.as_ref();
        [
            record.at.since(first.at).as_millis().to_string(),
            word(&record.event),
            record
                .unit
                .map_or_else(String::new, |unit| unit.to_string()),
            record.attempt.to_string(),
            worker.map_or_else(String::new, ToString::to_string),
        ]
    });
    table(["MS", "EVENT", "UNIT", "ATTEMPT", "WORKER"], rows)
}
