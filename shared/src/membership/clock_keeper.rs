//! Measures the cluster's clock again and again.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::broker::BrokerHandle;
use crate::telemetry::ClusterClock;

/// Time between two measurements: a quartz drifts about a millisecond in it.
const CLOCK_REFRESH: Duration = Duration::from_secs(30);

/// Keeps a clock measured for as long as it is polled: spawn it, and abort it at the end.
pub async fn keep_clock(clock: ClusterClock, broker: BrokerHandle) {
    let mut due = interval(CLOCK_REFRESH);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        if let Err(error) = clock.refresh(&*broker).await {
            tracing::warn!(%error, "cluster clock was not measured, it runs on by itself");
        }
    }
}
