//! `proofmill job`: shows a job, now or once it has ended.

use std::time::Duration;

use proofmill_coordinator::api::JobAnswer;
use proofmill_coordinator::view::JobState;

use super::waiting;
use crate::cli::Job;
use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, duration, plain, table, utc, word};

/// Shows a job.
pub(crate) async fn run(client: &Client, args: &Job, output: &Output) -> Result<Exit, CliError> {
    let mut answer = client.job(args.id, Duration::ZERO).await?;
    if args.wait {
        answer = waiting::until_ended(client, answer, args.timeout, output).await?;
    }
    show(&answer, output)?;
    Ok(if args.wait {
        Exit::of_job(answer.job.state)
    } else {
        Exit::Ok
    })
}

/// Prints a job.
pub(crate) fn show(answer: &JobAnswer, output: &Output) -> Result<(), CliError> {
    output.print(answer, text)
}

fn text(answer: &JobAnswer) -> String {
    let job = &answer.job;
    let mut lines = vec![
        ("job", job.id.to_string()),
        ("circuit", job.circuit.to_string()),
        ("state", word(&job.state)),
        ("priority", word(&job.priority)),
        ("submitted", format!("{} UTC", utc(job.submitted_at))),
    ];
    let ended = job.ended_at.map(|ended| {
        let took = duration(ended.since(job.submitted_at));
        ("ended", format!("{} UTC, after {took}", utc(ended)))
    });
    lines.extend(ended);
    let deadline = job
        .deadline
        .map(|at| ("deadline", format!("{} UTC", utc(at))));
    lines.extend(deadline);
    lines.extend(job.retry_of.map(|first| ("retry of", first.to_string())));
    lines.extend(job.summary.clone().map(|summary| ("input", summary)));
    lines.push(("trace", job.trace_id.clone()));
    let failure = job.failure.as_ref();
    lines.extend(
        failure.map(|failure| ("cause", format!("{} ({})", failure.message, failure.code))),
    );

    let mut text = String::new();
    for (name, value) in lines {
        text.push_str(&format!("{name:<10} {}\n", plain(&value)));
    }
    if !job.partitions.is_empty() {
        text.push('\n');
        text.push_str(&partitions(answer));
        text.push('\n');
    }
    if let Some(hint) = hint(answer) {
        text.push_str(&format!("\n{hint}\n"));
    }
    text
}

fn partitions(answer: &JobAnswer) -> String {
    let rows = answer.job.partitions.iter().map(|partition| {
        let worker = partition.worker.as_ref();
        [
            partition.index.to_string(),
            word(&partition.state),
            partition.synth_attempts.to_string(),
            partition.prove_attempts.to_string(),
            worker.map_or_else(String::new, ToString::to_string),
        ]
    });
    table(
        ["PARTITION", "STATE", "SYNTHESIZED", "PROVED", "WORKER"],
        rows,
    )
}

fn hint(answer: &JobAnswer) -> Option<String> {
    let id = answer.job.id;
    Some(match answer.job.state {
        JobState::Succeeded => format!("its proofs: proofmill proof {id} --out proof.json"),
        JobState::Rejected => "correct the input and submit it anew".to_owned(),
        JobState::Failed | JobState::Cancelled | JobState::Expired => {
            format!("to try again: proofmill retry {id}")
        }
        _ => return None,
    })
}
