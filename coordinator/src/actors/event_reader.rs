//! Reads what workers report, and acknowledges what has become durable.
//!
//! Owns the events stream. Receives [`BeginReading`] and [`StopReading`]; acknowledgements come through [`Acks`]. Sends
//! [`Reports`] to the supervisor, and waits for room in its mailbox. Ends when told to, or with the coordinator.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Addr, AsyncContext, Context, Handler, Message, ResponseFuture};
use proofmill_shared::broker::{BrokerError, Delivery, StreamReader};
use proofmill_shared::protocol::{Envelope, EventMessage};
use tokio::sync::{mpsc, watch};

use super::ending::Alarm;
use super::insist::insist;
use super::job_supervisor::{JobSupervisor, Reports};
use super::site::Site;

/// Events taken at a time.
const EVENTS_PER_READ: usize = 256;

/// Longest wait of one read: bounds how long an acknowledgement waits behind it.
const READ_BLOCK: Duration = Duration::from_millis(200);

/// Wait before a stream that failed is opened again.
const REOPEN_AFTER: Duration = Duration::from_millis(500);

/// Events read and not yet durable: more are not read until some are, so that memory stays bounded when the broker is
/// slow to commit.
const UNACKNOWLEDGED_MAX: usize = 4_096;

/// Idle time after which deliveries of another coordinator are taken over: longer than the lead lasts.
const TAKE_OVER_AFTER: Duration = Duration::from_secs(6);

/// Messages waiting: the orders to begin and to stop.
const MAILBOX: usize = 4;

/// An event with the id by which it is acknowledged.
#[derive(Debug)]
pub(crate) struct ReadEvent {
    pub(super) delivery: String,
    pub(super) message: EventMessage,
}

/// Where deliveries are handed in for acknowledgement.
#[derive(Debug, Clone)]
pub(super) struct Acks(mpsc::UnboundedSender<String>);

impl Acks {
    /// A line for acknowledgements. Its length is bounded by [`UNACKNOWLEDGED_MAX`], at which the reader stops reading.
    pub(super) fn line() -> (Self, mpsc::UnboundedReceiver<String>) {
        let (acks, acked) = mpsc::unbounded_channel();
        (Self(acks), acked)
    }

    pub(super) fn hand_in(&self, delivery: String) {
        if self.0.send(delivery).is_err() {
            tracing::debug!("reader is gone, the event comes again and changes nothing");
        }
    }
}

/// Begins to read.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct BeginReading;

/// Stops reading; answers when the last read has answered.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct StopReading;

/// See the module.
#[derive(Debug)]
pub(super) struct EventReader {
    site: Arc<Site>,
    acked: Option<mpsc::UnboundedReceiver<String>>,
    supervisor: Option<Addr<JobSupervisor>>,
    is_wanted: watch::Sender<bool>,
    is_reading: watch::Sender<bool>,
    _alarm: Alarm,
}

impl EventReader {
    pub(super) fn new(
        site: Arc<Site>,
        acked: mpsc::UnboundedReceiver<String>,
        supervisor: Addr<JobSupervisor>,
    ) -> Self {
        Self {
            _alarm: Alarm::new(Arc::clone(&site), "event reader"),
            site,
            acked: Some(acked),
            supervisor: Some(supervisor),
            is_wanted: watch::channel(true).0,
            is_reading: watch::channel(false).0,
        }
    }
}

impl Actor for EventReader {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<BeginReading> for EventReader {
    type Result = ();

    fn handle(&mut self, _: BeginReading, ctx: &mut Self::Context) {
        let (Some(acked), Some(supervisor)) = (self.acked.take(), self.supervisor.take()) else {
            return;
        };
        let reading = Reading {
            site: Arc::clone(&self.site),
            supervisor,
            acked,
            unacknowledged: HashSet::new(),
            is_wanted: self.is_wanted.subscribe(),
        };
        self.is_reading.send_replace(true);
        let (alarm, is_reading) = (
            Alarm::new(Arc::clone(&self.site), "event reader"),
            self.is_reading.clone(),
        );
        ctx.spawn(actix::fut::wrap_future(async move {
            let _alarm = alarm;
            reading.run().await;
            is_reading.send_replace(false);
        }));
    }
}

impl Handler<StopReading> for EventReader {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopReading, _: &mut Self::Context) -> Self::Result {
        self.is_wanted.send_replace(false);
        let mut is_reading = self.is_reading.subscribe();
        Box::pin(async move {
            if is_reading.wait_for(|is_reading| !is_reading).await.is_err() {
                tracing::debug!("event reader is gone");
            }
        })
    }
}

/// The reading itself: one loop, never interrupted within a read.
#[derive(Debug)]
struct Reading {
    site: Arc<Site>,
    supervisor: Addr<JobSupervisor>,
    acked: mpsc::UnboundedReceiver<String>,
    unacknowledged: HashSet<String>,
    is_wanted: watch::Receiver<bool>,
}

impl Reading {
    async fn run(mut self) {
        while self.goes_on() {
            let opened = insist(&self.site, "open events", async || {
                let holder = &self.site.options.holder;
                self.site
                    .broker()
                    .open_events(holder, TAKE_OVER_AFTER)
                    .await
            });
            let result = match opened.await {
                Ok(stream) => self.read_from(stream.answer).await,
                Err(error) => Err(error),
            };
            if let Err(error) = result {
                tracing::warn!(%error, "events do not read, opening the stream again");
                tokio::time::sleep(REOPEN_AFTER).await;
            }
        }
    }

    fn goes_on(&self) -> bool {
        *self.is_wanted.borrow() && !self.site.is_ending()
    }

    async fn read_from(&mut self, mut stream: Box<dyn StreamReader>) -> Result<(), BrokerError> {
        self.unacknowledged.clear();
        while self.goes_on() {
            self.acknowledge(&mut *stream).await?;
            if self.unacknowledged.len() >= UNACKNOWLEDGED_MAX {
                self.wait_for_ack(&mut *stream).await?;
                continue;
            }
            let deliveries = stream.read(EVENTS_PER_READ, READ_BLOCK).await?;
            if !deliveries.is_empty() {
                self.pass_on(deliveries).await;
            }
        }
        self.acknowledge(&mut *stream).await
    }

    async fn pass_on(&mut self, deliveries: Vec<Delivery>) {
        let mut events = Vec::with_capacity(deliveries.len());
        let mut unreadable = Vec::new();
        for delivery in deliveries {
            if !self.unacknowledged.insert(delivery.id.clone()) {
                continue;
            }
            match Envelope::<EventMessage>::decode(&delivery.body) {
                Ok(envelope) => events.push(ReadEvent {
                    delivery: delivery.id,
                    message: envelope.body,
                }),
                Err(error) => {
                    tracing::warn!(%error, "event does not read, dropped: its effect is found without it");
                    unreadable.push(delivery.id);
                }
            }
        }
        let dropped = Reports { events, unreadable };
        if self.supervisor.send(dropped).await.is_err() {
            tracing::debug!("supervisor is gone, events stay for the next one");
        }
    }

    async fn acknowledge(&mut self, stream: &mut dyn StreamReader) -> Result<(), BrokerError> {
        let mut ids = Vec::new();
        while let Ok(id) = self.acked.try_recv() {
            self.unacknowledged.remove(&id);
            ids.push(id);
        }
        if ids.is_empty() {
            return Ok(());
        }
        stream.ack(&ids).await
    }

    async fn wait_for_ack(&mut self, stream: &mut dyn StreamReader) -> Result<(), BrokerError> {
        match tokio::time::timeout(READ_BLOCK, self.acked.recv()).await {
            Ok(Some(id)) => {
                self.unacknowledged.remove(&id);
                stream.ack(&[id]).await
            }
            Ok(None) | Err(_) => Ok(()),
        }
    }
}
