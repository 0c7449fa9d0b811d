//! The inbox: assignments in, acknowledgements out.

use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::held::HeldTable;
use super::{Assigned, EventEmitter};
use crate::broker::{Delivery, Retryability, StreamReader};
use crate::protocol::{Envelope, Task, WorkerEvent};

/// Longest wait of one read: bounds how long an acknowledgement or a drain waits behind it.
pub(super) const READ_BLOCK: Duration = Duration::from_millis(500);

/// Wait after a read that failed; the broker's own back-off comes on top.
pub(super) const READ_RETRY: Duration = Duration::from_millis(200);

/// Tasks taken from the stream at a time: the coordinator never assigns more than the worker's credits.
const TASKS_PER_READ: usize = 16;

/// Moves assignments from the inbox to the worker until it drains, and acknowledges what it settled.
pub(super) async fn pump(
    mut inbox: Box<dyn StreamReader>,
    held: HeldTable,
    emitter: EventEmitter,
    assigned: mpsc::Sender<Assigned>,
    reading: watch::Receiver<bool>,
) {
    let (acks, mut settled) = mpsc::unbounded_channel();
    let is_reading = || reading.has_changed().is_ok() && *reading.borrow();
    while is_reading() {
        match inbox.read(TASKS_PER_READ, READ_BLOCK).await {
            Ok(deliveries) => {
                for delivery in deliveries {
                    accept(delivery, &held, &emitter, &assigned, &acks, is_reading()).await;
                }
            }
            Err(error) if error.retryability() == Retryability::Transient => {
                tracing::warn!(%error, "inbox does not read, trying again");
                tokio::time::sleep(READ_RETRY).await;
            }
            Err(error) => {
                tracing::error!(%error, "inbox does not read: this worker takes no more tasks");
                break;
            }
        }
        acknowledge(&mut *inbox, &mut settled).await;
    }
    drop(assigned);
    drop(acks);
    // What is still held settles later: acknowledge it as it comes, until the last ticket is gone.
    while let Some(id) = settled.recv().await {
        if let Err(error) = inbox.ack(&[id]).await {
            tracing::debug!(%error, "delivery stays unacknowledged, its token is spent");
        }
    }
}

async fn accept(
    delivery: Delivery,
    held: &HeldTable,
    emitter: &EventEmitter,
    assigned: &mpsc::Sender<Assigned>,
    acks: &mpsc::UnboundedSender<String>,
    is_reading: bool,
) {
    let envelope = match Envelope::<Task>::decode(&delivery.body) {
        Ok(envelope) => envelope,
        Err(error) => {
            tracing::warn!(%error, "task does not read, dropped: the coordinator sees that it is not held");
            if acks.send(delivery.id).is_err() {
                tracing::debug!("inbox is closed");
            }
            return;
        }
    };
    let key = *envelope.body.key();
    let Some(ticket) = held.hold(key, delivery.id, acks.clone()) else {
        tracing::debug!(?key, "task is held already, delivery ignored");
        return;
    };
    if !is_reading {
        emitter.emit(key, WorkerEvent::Released, Vec::new()).await;
        ticket.settle();
        return;
    }
    let message = Assigned {
        task: envelope.body,
        trace: envelope.trace,
        ticket,
    };
    if let Err(mpsc::error::SendError(refused)) = assigned.send(message).await {
        emitter.emit(key, WorkerEvent::Released, Vec::new()).await;
        refused.ticket.settle();
    }
}

async fn acknowledge(inbox: &mut dyn StreamReader, settled: &mut mpsc::UnboundedReceiver<String>) {
    let mut ids = Vec::new();
    while let Ok(id) = settled.try_recv() {
        ids.push(id);
    }
    if !ids.is_empty()
        && let Err(error) = inbox.ack(&ids).await
    {
        tracing::debug!(%error, "deliveries stay unacknowledged, their tokens are spent");
    }
}
