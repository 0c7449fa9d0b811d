//! `proofmill submit`: submits a job, and may wait for its proofs.

use super::{job, proof, waiting};
use crate::cli::{Input, Submit};
use crate::client::{Client, Submission};
use crate::error::CliError;
use crate::exit::Exit;
use crate::files::{self, INPUT_BYTES_MAX};
use crate::output::Output;

/// Submits a job.
pub(crate) async fn run(client: &Client, args: Submit, output: &Output) -> Result<Exit, CliError> {
    let submission = Submission {
        circuit: args.circuit,
        input: read_input(&args.input)?,
        priority: args.priority.into(),
        deadline: args.deadline,
        idempotency_key: args.idempotency_key,
    };
    let answer = client.submit(submission).await?;
    if !args.wait && args.out.is_none() {
        output.print(&answer, |answer| {
            let id = answer.job.id;
            format!("{id}\n\nfollow it with: proofmill job {id} --wait")
        })?;
        return Ok(Exit::Ok);
    }
    output.note(&format!("submitted {}", answer.job.id));
    let answer = waiting::until_ended(client, answer, args.timeout, output).await?;
    if let (Some(out), Exit::Ok) = (&args.out, Exit::of_job(answer.job.state)) {
        proof::fetch(client, answer.job.id, out, output).await?;
    }
    job::show(&answer, output)?;
    Ok(Exit::of_job(answer.job.state))
}

fn read_input(input: &Input) -> Result<Vec<u8>, CliError> {
    if let Some(json) = &input.input_json {
        return match serde_json::from_str::<&serde_json::value::RawValue>(json) {
            Ok(_) => Ok(json.clone().into_bytes()),
            Err(error) => Err(CliError::Usage(format!(
                "--input-json is not JSON ({error}): quote it for your shell, or use --input FILE"
            ))),
        };
    }
    match input.input.as_deref().or(input.file.as_deref()) {
        Some(path) => files::read(path, INPUT_BYTES_MAX),
        None => Err(CliError::Usage(
            "no input: give a FILE, or - for standard input".to_owned(),
        )),
    }
}
