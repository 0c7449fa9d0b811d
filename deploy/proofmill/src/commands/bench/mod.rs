//! `proofmill bench`: measurements, side by side with a peer in one run.
//!
//! *Layout*: `prove` (our prover and others), `cluster` (the embedded cluster and a loop), `inputs` (what they prove).

mod cluster;
mod inputs;
mod prove;

pub(crate) use self::cluster::BenchCluster;

use crate::cli::Bench;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;

/// Runs one of them.
pub(crate) fn run(command: &Bench, output: &Output) -> Result<Exit, CliError> {
    match command {
        Bench::Prove(args) => prove::run(args, output),
        Bench::Cluster(args) => cluster::run(args, output),
    }
}

/// Middle value of measurements; 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
