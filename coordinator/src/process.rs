//! The coordinator process: broker, clock, actors and API, from start to an orderly stop.

use actix_web::dev::Server;
use proofmill_shared::broker::{BrokerHandle, ServerReport};
use proofmill_shared::groth16::Store;
use proofmill_shared::membership::{Signals, keep_clock};
use proofmill_shared::telemetry::{ClusterClock, SpanSink};
use tracing::{info, warn};

use crate::actors::{Coordinator, CoordinatorEnd, CoordinatorOptions};
use crate::api::{ApiConfig, ArtifactConfig, serve};
use crate::config::Config;
use crate::error::ProcessError;
use crate::handle::CoordinatorHandle;

/// Share of the payload server's memory that assignments may fill unless configured, in percent: the rest is for
/// records, streams and the server's own overhead.
const PAYLOAD_SHARE_PERCENT: u64 = 60;

/// Runs the coordinator until a signal, its end by itself, or a failure.
///
/// Must be called inside a running actix system.
///
/// # Errors
/// [`ProcessError`], if it cannot start, or ends without being asked to.
pub async fn run(
    config: &Config,
    broker: BrokerHandle,
    spans: SpanSink,
) -> Result<(), ProcessError> {
    let report = broker.check().await?;
    info!(server = %report.server, broker = %broker.describe(), "broker checked");
    if report.is_exposed() {
        warn!(
            "broker is on another machine and inputs travel to it in the clear: set broker.cluster_key in every process"
        );
    }
    let clock = ClusterClock::measure(&*broker).await?;
    let settings = &config.coordinator;
    let options = CoordinatorOptions {
        spans,
        holder: settings.id.to_string(),
        queue_limit: usize::try_from(settings.queue_max).unwrap_or(usize::MAX),
        retention: settings.retention,
        lookahead: usize::try_from(settings.lookahead).unwrap_or(usize::MAX),
        payload_budget_bytes: payload_budget(config, &broker, &report).await?,
        ..CoordinatorOptions::new(
            broker.clone(),
            clock.clone(),
            settings.input_bytes_max.as_usize(),
        )
    };
    let mut signals = Signals::listen().map_err(ProcessError::Signals)?;
    let handle = Coordinator::start(options);
    let api = ApiConfig {
        listen: settings.listen,
        is_insecure_allowed: settings.is_insecure_allowed,
        input_bytes_max: settings.input_bytes_max.as_usize(),
        clock: clock.clone(),
        artifacts: ArtifactConfig {
            store: config.store.as_ref().map(|store| Store::new(&store.home)),
            is_key_served: settings.is_key_served,
        },
    };
    let (server, address) = match serve(handle.clone(), api) {
        Ok(served) => served,
        Err(error) => {
            handle.stop().await;
            return Err(error.into());
        }
    };
    info!(%address, id = %settings.id, "coordinator listens");
    let keeper = actix::spawn(keep_clock(clock, broker));
    let result = until_ended(&handle, server, &mut signals).await;
    keeper.abort();
    result
}

async fn until_ended(
    handle: &CoordinatorHandle,
    server: Server,
    signals: &mut Signals,
) -> Result<(), ProcessError> {
    let stop = server.handle();
    // A task of its own: a server that nobody polls cannot stop.
    let mut serving = actix::spawn(server);
    let result = tokio::select! {
        name = signals.next() => {
            info!(signal = name, "coordinator stops");
            Ok(())
        }
        end = handle.ended() => match end {
            CoordinatorEnd::Stopped => Ok(()),
            end => Err(ProcessError::Ended(end)),
        },
        served = &mut serving => served
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
            .map_err(ProcessError::Server),
    };
    // Both at once: requests under way may still be answered while the actors finish what they write.
    tokio::join!(stop.stop(true), handle.stop());
    info!("coordinator stopped");
    result
}

async fn payload_budget(
    config: &Config,
    broker: &BrokerHandle,
    report: &ServerReport,
) -> Result<Option<u64>, ProcessError> {
    if let Some(budget) = config.coordinator.payload_budget {
        return Ok(Some(budget.as_u64()));
    }
    let limit = broker.payload_usage().await?.limit_bytes;
    let budget = limit
        .or(report.limit_bytes)
        .map(|limit| limit / 100 * PAYLOAD_SHARE_PERCENT);
    if let Some(bytes) = budget {
        info!(
            bytes,
            "payload budget follows from the broker's memory limit"
        );
    }
    Ok(budget)
}
