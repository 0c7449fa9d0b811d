//! The `proofmill` command: embedded cluster and client.
//!
//! # Layout
//!
//! - `cli`: what can be typed.
//! - `client`: the coordinator's HTTP API as functions.
//! - `commands`: one command a file.
//! - `embedded`: a whole cluster in this process.
//! - `output`: tables for people, JSON for programs.
//! - `error`: causes of failure, with what to do about them.
//! - `exit`: what the exit code says.
//! - `files`: what commands read and write; `store`: this machine's keys and shapes.

mod cli;
mod client;
mod commands;
mod embedded;
mod error;
mod exit;
mod files;
mod output;
mod store;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::output::Output;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    let exit = match commands::run(cli, &output) {
        Ok(exit) => exit,
        Err(error) => {
            output.error(&error);
            error.exit()
        }
    };
    exit.into()
}
