//! Orders that overtake the inbox: read whatever the worker's credits.

use tokio::sync::watch;

use super::held::HeldTable;
use super::inbox::{READ_BLOCK, READ_RETRY};
use crate::broker::{Retryability, StreamReader};
use crate::protocol::{Control, Envelope};

/// Orders taken from the stream at a time.
const ORDERS_PER_READ: usize = 64;

/// Obeys the control stream until the worker stops reading or its broker fails for good.
pub(super) async fn obey(
    mut stream: Box<dyn StreamReader>,
    held: HeldTable,
    reading: watch::Receiver<bool>,
) {
    // A drained worker still obeys: what it holds can be cancelled to the end. The task ends with its runtime, or when
    // every membership is gone.
    while reading.has_changed().is_ok() {
        let deliveries = match stream.read(ORDERS_PER_READ, READ_BLOCK).await {
            Ok(deliveries) => deliveries,
            Err(error) if error.retryability() == Retryability::Transient => {
                tracing::warn!(%error, "control stream does not read, trying again");
                tokio::time::sleep(READ_RETRY).await;
                continue;
            }
            Err(error) => {
                tracing::error!(%error, "control stream does not read: cancellation no longer reaches this worker");
                return;
            }
        };
        for delivery in &deliveries {
            match Envelope::<Control>::decode(&delivery.body) {
                Ok(order) => {
                    let tasks = held.obey(&order.body);
                    tracing::info!(order = ?order.body, tasks, "control order obeyed");
                }
                Err(error) => tracing::warn!(%error, "control order does not read, ignored"),
            }
        }
        let ids: Vec<String> = deliveries.into_iter().map(|delivery| delivery.id).collect();
        if !ids.is_empty()
            && let Err(error) = stream.ack(&ids).await
        {
            tracing::debug!(%error, "orders stay unacknowledged: obeying them again is harmless");
        }
    }
}
