//! The configuration of the coordinator process: file, environment and flags, checked once.

use std::path::PathBuf;

use clap::Parser;
use proofmill_shared::config::{
    BrokerSettings, ConfigError, ConfigSources, CoordinatorSettings, Environment, Flags,
    StoreSettings, TelemetrySettings,
};

/// Assigns proving jobs to workers over Redis, and serves the HTTP API.
///
/// Settings come from the file, then PROOFMILL_* variables such as PROOFMILL_COORDINATOR__LISTEN, then these flags. Exit
/// codes: 0 stopped in order, 1 failed, 2 usage or configuration, 4 Redis unreachable.
#[derive(Debug, Parser)]
#[command(name = "coordinator", version, max_term_width = 100)]
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
    /// Address of the HTTP API.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Allows an address that other machines reach, without keys and TLS: for use behind a proxy that checks its clients.
    #[arg(long)]
    pub insecure_http: bool,
    /// Name of this coordinator, for people.
    #[arg(long, value_name = "NAME")]
    pub id: Option<String>,
    /// What is logged: a level, or a filter such as info,proofmill_shared=debug.
    #[arg(long, value_name = "FILTER")]
    pub log: Option<String>,
}

/// What the coordinator process needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// How it runs.
    pub coordinator: CoordinatorSettings,
    /// How Redis is reached.
    pub broker: BrokerSettings,
    /// What is logged.
    pub telemetry: TelemetrySettings,
    /// Where shapes and keys are that it gives to workers, if the environment has a place for them.
    pub store: Option<StoreSettings>,
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
            .with("coordinator.listen", args.listen.as_ref())
            .with(
                "coordinator.insecure_http",
                args.insecure_http.then_some(true),
            )
            .with("coordinator.id", args.id.as_ref())
            .with("telemetry.log", args.log.as_ref());
        let raw = ConfigSources::load(args.config.as_deref(), environment, &flags)?;
        Ok(Self {
            coordinator: CoordinatorSettings::from_raw(&raw)?,
            broker: BrokerSettings::from_raw(&raw)?,
            telemetry: TelemetrySettings::from_raw(&raw)?,
            // Everything but giving shapes and keys away is done without one.
            store: match StoreSettings::from_raw(&raw, environment) {
                Ok(store) => Some(store),
                Err(ConfigError::NoHome) => None,
                Err(error) => return Err(error),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(line: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let args = Args::parse_from(line.split_whitespace());
        Config::load(&args, &variables.iter().copied().collect())
    }

    #[test]
    fn flags_win_over_the_environment() {
        let variables = [("PROOFMILL_COORDINATOR__LISTEN", "127.0.0.1:1")];
        let config = load("coordinator", &variables).unwrap();
        assert_eq!(config.coordinator.listen.port(), 1);
        let config = load("coordinator --listen 127.0.0.1:2", &variables).unwrap();
        assert_eq!(config.coordinator.listen.port(), 2);
    }

    #[test]
    fn bad_values_name_their_origin() {
        let error = load("coordinator --listen nowhere", &[]).unwrap_err();
        assert!(error.to_string().contains("coordinator.listen"), "{error}");
        let error = load("coordinator", &[("PROOFMILL_COORDINATOR__LISTE", "x")]).unwrap_err();
        assert!(
            error.to_string().contains("PROOFMILL_COORDINATOR__LISTE"),
            "{error}"
        );
        assert!(load("coordinator --config /no/such/file", &[]).is_err());
    }
}
