//! One command a file; this one only sends each to its own.

mod bench;
mod cancel;
mod circuits;
mod demo;
mod job;
mod jobs;
mod params;
mod proof;
mod retry;
mod submit;
mod timeline;
mod up;
mod verify;
mod waiting;
mod workers;

use std::future::Future;

pub(crate) use bench::BenchCluster;
pub(crate) use verify::VerificationError;

use crate::cli::{Cli, Command};
use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;

/// Runs what was typed.
pub(crate) fn run(cli: Cli, output: &Output) -> Result<Exit, CliError> {
    let client = || Client::new(&cli.connection);
    match cli.command {
        // On this machine.
        Command::Demo(args) => demo::run(&args, output),
        Command::Bench(command) => bench::run(&command, output),
        Command::Up(args) => up::run(&args, output),
        Command::Verify(args) => verify::run(&args, output),
        Command::Params(command) => params::run(&command, output),
        // Through a coordinator.
        Command::Submit(args) => ask(submit::run(&client()?, args, output)),
        Command::Jobs(args) => ask(jobs::run(&client()?, &args, output)),
        Command::Job(args) => ask(job::run(&client()?, &args, output)),
        Command::Cancel(args) => ask(cancel::run(&client()?, &args, output)),
        Command::Retry(args) => ask(retry::run(&client()?, &args, output)),
        Command::Workers => ask(workers::run(&client()?, output)),
        Command::Circuits => ask(circuits::run(&client()?, output)),
        Command::Timeline(args) => ask(timeline::run(&client()?, &args, output)),
        Command::Proof(args) => ask(proof::run(&client()?, &args, output)),
    }
}

/// Runs a command that waits for a coordinator: one thread is plenty.
fn ask(command: impl Future<Output = Result<Exit, CliError>>) -> Result<Exit, CliError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CliError::Runtime)?
        .block_on(command)
}
