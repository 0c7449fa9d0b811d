//! The coordinator: job state machine, scheduler, HTTP API and reports.

use std::process::ExitCode;

use clap::Parser;
use proofmill_coordinator::config::{Args, Config};
use proofmill_coordinator::error::ProcessError;
use proofmill_coordinator::process;
use proofmill_shared::broker::{RedisBroker, RedisConfig};
use proofmill_shared::config::Environment;
use proofmill_shared::membership::exit_on_panic;
use proofmill_shared::telemetry::{Telemetry, TelemetryConfig, logs};

fn main() -> ExitCode {
    exit_on_panic();
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("coordinator: {}", error.message());
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(args: &Args) -> Result<(), ProcessError> {
    let config = Config::load(args, &Environment::of_process())?;
    logs::init(&config.telemetry.log, config.telemetry.log_format);
    let telemetry = Telemetry::start(TelemetryConfig::from_env(
        "coordinator",
        config.coordinator.id.as_str(),
    ))?;
    let spans = telemetry.sink();
    let outcome = actix::System::new().block_on(async {
        let broker = RedisBroker::connect(RedisConfig::from(&config.broker)).await?;
        process::run(&config, broker, spans).await
    });
    // After the actix system has ended: exporting needs a thread that nothing else blocks.
    telemetry.close();
    outcome
}
