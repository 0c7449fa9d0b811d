//! `proofmill bench`: measurements, side by side with a peer in one run.

mod prove;

use crate::cli::Bench;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;

/// Runs one of them.
pub(crate) fn run(command: &Bench, output: &Output) -> Result<Exit, CliError> {
    match command {
        Bench::Prove(args) => prove::run(args, output),
    }
}
