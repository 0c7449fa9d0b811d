//! `proofmill bench`: measurements, side by side with a peer in one run.
//!
//! *Layout*: `prove` (our prover and others), `cluster` (the embedded cluster and a loop), `inputs` (what they prove).

mod cluster;
mod inputs;
mod prove;

pub(crate) use self::cluster::BenchCluster;

use proofmill_gpu_worker::device::{Device, DeviceChoice, DeviceOptions};
use proofmill_shared::config::{KEY_BUDGET_BYTES_DEFAULT, ShapeResidency};
use proofmill_shared::groth16::Store;

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

/// A device as a GPU worker opens it, with the keys of this machine's store.
fn open_device(choice: DeviceChoice, store: &Store) -> Result<Device, CliError> {
    Ok(Device::open(DeviceOptions {
        choice,
        num_threads: None,
        store: store.clone(),
        source: None,
        shapes: ShapeResidency::Full,
        resident_budget: KEY_BUDGET_BYTES_DEFAULT.as_u64(),
    })?)
}

/// Middle value of measurements; 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
