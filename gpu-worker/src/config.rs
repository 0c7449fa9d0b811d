//! The configuration of the GPU worker process: file, environment and flags, checked once.

use std::path::PathBuf;

use clap::Parser;
use proofmill_shared::config::{
    BrokerSettings, ConfigError, ConfigSources, Environment, Flags, GpuWorkerSettings,
    StoreSettings, TelemetrySettings,
};

/// Fetches assignments, proves them, and verifies the proofs.
///
/// Settings come from the file, then PROOFMILL_* variables such as PROOFMILL_GPU_WORKER__DEVICE, then these flags. Exit
/// codes: 0 stopped in order, 1 failed, 2 usage or configuration, 4 Redis unreachable.
#[derive(Debug, Parser)]
#[command(name = "gpu-worker", version, max_term_width = 100)]
pub struct Args {
    /// The configuration file; otherwise ./proofmill.toml, if it is there.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Redis that holds jobs and streams.
    #[arg(long, value_name = "URL")]
    pub broker_url: Option<String>,
    /// Start of all Redis key names.
    #[arg(long, value_name = "PREFIX")]
    pub broker_prefix: Option<String>,
    /// Name of this worker, one of its kind in the cluster.
    #[arg(long, value_name = "NAME")]
    pub id: Option<String>,
    /// Device to prove on: auto, cpu.
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Assignments to fetch and decode beyond the one that is proved.
    #[arg(long, value_name = "N")]
    pub prefetch: Option<u32>,
    /// Folder of shapes and keys.
    #[arg(long, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// What is logged: a level, or a filter such as info,proofmill_shared=debug.
    #[arg(long, value_name = "FILTER")]
    pub log: Option<String>,
}

/// What the GPU worker process needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// How it runs.
    pub worker: GpuWorkerSettings,
    /// How Redis is reached.
    pub broker: BrokerSettings,
    /// Where shapes and keys are kept.
    pub store: StoreSettings,
    /// What is logged.
    pub telemetry: TelemetrySettings,
}

impl Config {
    /// Reads all sources, in rising order, and checks the sections of this process.
    ///
    /// # Errors
    /// The [`ConfigError`] that names the file, key or value at fault.
    pub fn load(args: &Args, environment: &Environment) -> Result<Self, ConfigError> {
        let flags = Flags::new()
            .with("broker.url", args.broker_url.as_ref())
            .with("broker.prefix", args.broker_prefix.as_ref())
            .with("gpu_worker.id", args.id.as_ref())
            .with("gpu_worker.device", args.device.as_ref())
            .with("gpu_worker.prefetch", args.prefetch)
            .with("store.home", args.home.as_ref().map(|home| home.display()))
            .with("telemetry.log", args.log.as_ref());
        let raw = ConfigSources::load(args.config.as_deref(), environment, &flags)?;
        Ok(Self {
            worker: GpuWorkerSettings::from_raw(&raw)?,
            broker: BrokerSettings::from_raw(&raw)?,
            store: StoreSettings::from_raw(&raw, environment)?,
            telemetry: TelemetrySettings::from_raw(&raw)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_win_over_the_environment_and_unknown_keys_are_named() {
        let load = |line: &str, variables: &[(&str, &str)]| {
            Config::load(
                &Args::parse_from(line.split_whitespace()),
                &variables.iter().copied().collect(),
            )
        };
        let variables = [
            ("PROOFMILL_GPU_WORKER__DEVICE", "cpu"),
            ("PROOFMILL_HOME", "/tmp/mill"),
        ];
        assert_eq!(load("gpu-worker", &variables).unwrap().worker.device, "cpu");
        assert_eq!(
            load("gpu-worker --device auto", &variables)
                .unwrap()
                .worker
                .device,
            "auto"
        );
        let error = load("gpu-worker", &[("PROOFMILL_GPU_WORKER__DEVIC", "cpu")]).unwrap_err();
        assert!(
            error.to_string().contains("PROOFMILL_GPU_WORKER__DEVIC"),
            "{error}"
        );
    }
}
