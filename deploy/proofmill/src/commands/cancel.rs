//! `proofmill cancel`: cancels a job.

use super::job;
use crate::cli::OneJob;
use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;

/// Cancels a job; one that has ended stays as it is, and that is a failure.
pub(crate) async fn run(client: &Client, args: &OneJob, output: &Output) -> Result<Exit, CliError> {
    job::show(&client.cancel(args.id).await?, output)?;
    Ok(Exit::Ok)
}
