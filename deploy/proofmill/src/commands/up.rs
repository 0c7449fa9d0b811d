//! `proofmill up`: an embedded cluster with the HTTP API.

use proofmill_coordinator::api::{ApiConfig, ArtifactConfig, serve};
use proofmill_shared::config::INPUT_BYTES_MAX_DEFAULT;
use proofmill_shared::membership::Signals;
use proofmill_shared::telemetry::{Telemetry, TelemetryConfig};
use proofmill_synth_worker::circuit::CircuitRegistry;

use crate::cli::Up;
use crate::embedded::{EmbeddedCluster, EmbeddedError};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;
use crate::store;

/// Runs until the process is told to end.
pub(crate) fn run(args: &Up, output: &Output) -> Result<Exit, CliError> {
    let store = store::open()?;
    let telemetry = Telemetry::start(TelemetryConfig::from_env("proofmill", "up"))
        .map_err(EmbeddedError::from)?;
    let outcome = actix::System::new().block_on(async {
        let mut signals = Signals::listen()?;
        let cluster = EmbeddedCluster::start(args.size, &store, CircuitRegistry::builtin(), &telemetry).await?;
        let api = ApiConfig {
            listen: args.listen,
            is_insecure_allowed: args.insecure_http,
            input_bytes_max: INPUT_BYTES_MAX_DEFAULT.as_usize(),
            clock: cluster.clock(),
            // Whoever reaches a cluster on this machine can read the store as well.
            artifacts: ArtifactConfig {
                store: Some(store.clone()),
                is_key_served: true,
            },
        };
        let (server, address) = match serve(cluster.coordinator(), api) {
            Ok(served) => served,
            Err(error) => {
                cluster.stop().await;
                return Err(EmbeddedError::from(error));
            }
        };
        output.note(&format!(
            "listening on http://{address}\ntry: proofmill params generate sha256 && proofmill submit sha256 README.md --wait"
        ));
        let stop = server.handle();
        // A task of its own: a server that nobody polls cannot stop.
        let mut serving = actix::spawn(server);
        let served = tokio::select! {
            name = signals.next() => {
                output.note(&format!("{name}: draining"));
                Ok(())
            }
            served = &mut serving => served
                .unwrap_or_else(|error| Err(std::io::Error::other(error)))
                .map_err(EmbeddedError::from),
        };
        stop.stop(true).await;
        cluster.stop().await;
        served
    });
    telemetry.close();
    outcome?;
    Ok(Exit::Ok)
}
