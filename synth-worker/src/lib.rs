//! The synthesis worker: circuit programs turned into shipped assignments, on CPUs only.
//!
//! # Layout
//!
//! - [`circuit`]: the trait a circuit joins through, the registry, one file per circuit family.
//! - [`witness`]: from a circuit with values to a checked assignment.
//! - `handoff`: what of an assignment travels.
//! - `actors`: tasks in, effects out.
//! - [`worker`]: a running synth worker, started and drained.
//! - [`config`], [`process`]: the worker as a process of its own.
//!
//! **Invariant**: no device code is linked here, and nothing of a GPU worker or the coordinator is known.

mod actors;
pub mod circuit;
pub mod config;
mod handoff;
pub mod process;
pub mod witness;
pub mod worker;

use std::process::ExitCode;

use clap::Parser;
use proofmill_shared::broker::{RedisBroker, RedisConfig};
use proofmill_shared::config::Environment;
use proofmill_shared::membership::exit_on_panic;
use proofmill_shared::telemetry::{Telemetry, TelemetryConfig, logs};

use crate::circuit::CircuitRegistry;
use crate::config::{Args, Config};
use crate::process::ProcessError;

/// The whole program: flags, configuration, and a worker that runs these circuits until it is told to stop. A worker
/// with circuits of one's own is this call with another registry.
#[must_use]
pub fn main_with(registry: CircuitRegistry) -> ExitCode {
    exit_on_panic();
    match run(&Args::parse(), registry) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("synth-worker: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(args: &Args, registry: CircuitRegistry) -> Result<(), ProcessError> {
    let config = Config::load(args, &Environment::of_process())?;
    logs::init(&config.telemetry.log, config.telemetry.log_format);
    let telemetry = Telemetry::start(TelemetryConfig::from_env(
        "synth-worker",
        config.worker.id.as_str(),
    ))?;
    let spans = telemetry.sink();
    let outcome = actix::System::new().block_on(async {
        let broker = RedisBroker::connect(RedisConfig::from(&config.broker))
            .await
            .map_err(worker::SynthWorkerError::from)?;
        process::run(&config, broker, spans, registry).await
    });
    // After the actix system has ended: exporting needs a thread that nothing else blocks.
    telemetry.close();
    outcome
}
