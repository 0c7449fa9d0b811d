//! `proofmill proof`: fetches the proofs of a job.

use std::path::Path;

use proofmill_coordinator::api::ProofAnswer;
use proofmill_shared::protocol::JobId;

use crate::cli::Proof;
use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::files;
use crate::output::Output;

/// Fetches proofs to a file or standard output.
pub(crate) async fn run(client: &Client, args: &Proof, output: &Output) -> Result<Exit, CliError> {
    match &args.out {
        Some(path) => fetch(client, args.id, path, output).await?,
        None => output.print(&client.proof(args.id).await?, json)?,
    }
    Ok(Exit::Ok)
}

/// Fetches proofs to a file: the whole of it or nothing.
pub(crate) async fn fetch(
    client: &Client,
    job: JobId,
    path: &Path,
    output: &Output,
) -> Result<(), CliError> {
    let answer = client.proof(job).await?;
    files::write(path, json(&answer).as_bytes())?;
    output.note(&format!(
        "wrote {}; check it with: proofmill verify {0}",
        path.display()
    ));
    Ok(())
}

fn json(answer: &ProofAnswer) -> String {
    serde_json::to_string_pretty(answer).unwrap_or_default() + "\n"
}
