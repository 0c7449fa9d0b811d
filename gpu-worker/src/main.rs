//! The GPU worker: fetches assignments, proves, verifies.

use std::process::ExitCode;

use clap::Parser;
use proofmill_gpu_worker::config::{Args, Config};
use proofmill_gpu_worker::process::{self, ProcessError};
use proofmill_gpu_worker::worker::GpuWorkerError;
use proofmill_shared::broker::{RedisBroker, RedisConfig};
use proofmill_shared::config::Environment;
use proofmill_shared::membership::exit_on_panic;
use proofmill_shared::telemetry::{Telemetry, TelemetryConfig, logs};

fn main() -> ExitCode {
    exit_on_panic();
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gpu-worker: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(args: &Args) -> Result<(), ProcessError> {
    let config = Config::load(args, &Environment::of_process())?;
    logs::init(&config.telemetry.log, config.telemetry.log_format);
    let telemetry = Telemetry::start(TelemetryConfig::from_env(
        "gpu-worker",
        config.worker.id.as_str(),
    ))?;
    let spans = telemetry.sink();
    let outcome = actix::System::new().block_on(async {
        let broker = RedisBroker::connect(RedisConfig::from(&config.broker))
            .await
            .map_err(GpuWorkerError::from)?;
        process::run(&config, broker, spans).await
    });
    // After the actix system has ended: exporting needs a thread that nothing else blocks.
    telemetry.close();
    outcome
}
