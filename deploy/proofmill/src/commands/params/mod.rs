//! `proofmill params`: makes, shows, checks and lists proving parameters.

mod check;
mod generate;
mod info;
mod list;

pub(crate) use self::generate::ensure;
use crate::cli::Params;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;

/// Runs one of them.
pub(crate) fn run(command: &Params, output: &Output) -> Result<Exit, CliError> {
    match command {
        Params::Generate(args) => generate::run(args, output),
        Params::Info(args) => info::run(args, output),
        Params::Check(args) => check::run(args, output),
        Params::List => list::run(output),
    }
}
