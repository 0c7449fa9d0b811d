//! `proofmill retry`: submits a job again that ended without success.

use super::job;
use crate::cli::OneJob;
use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;

/// Makes a new job of an ended one, and shows it.
pub(crate) async fn run(client: &Client, args: &OneJob, output: &Output) -> Result<Exit, CliError> {
    job::show(&client.retry(args.id).await?, output)?;
    Ok(Exit::Ok)
}
