//! Reading a stream whose deliveries wait for acknowledgement.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use redis::{Script, cmd, pipe};

use super::entry::{Entries, Entry, ReadAnswer};
use super::leadership::millis;
use super::line::Line;
use super::refusal::Refusal;
use super::retry::Patience;
use crate::broker::limits::BLOCK_MAX;
use crate::broker::{BrokerError, Delivery, StreamReader};

/// The one consumer group of a stream.
const GROUP: &str = "proofmill";

/// The consumer of a stream that has one owner.
pub(super) const OWNER: &str = "owner";

/// Time between two looks for deliveries that nobody acknowledges.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Least time between two looks, whatever the idle time after which deliveries are taken over.
const LEAST_LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// How long after a reader's first read, or after an exchange that broke off, the server may still hand deliveries to
/// a connection that is gone: its blocking read ends within this time.
const DOUBT: Duration = Duration::from_secs(30);

/// Pending deliveries listed in one exchange.
const PENDING_PAGE: usize = 256;

/// See [`StreamReader`]. Deliveries that an earlier reader (or a broken connection) took and nobody acknowledged come
/// first; they are found in the group's list of pending entries.
#[derive(Debug)]
pub(super) struct RedisStreamReader {
    line: Line,
    make_group: Script,
    stream: String,
    consumer: String,
    /// After what idle time deliveries of other consumers are taken over; `None` if there are no others.
    min_idle: Option<Duration>,
    /// Delivered by this reader and not acknowledged.
    in_hand: HashSet<String>,
    next_look: Option<Instant>,
    doubt_until: Instant,
}

/// A delivery that stands unacknowledged.
struct Pending {
    id: String,
    delivery_count: u32,
}

impl RedisStreamReader {
    /// Opens the stream, made if it is not there.
    pub(super) async fn open(
        line: Line,
        make_group: Script,
        stream: String,
        consumer: &str,
        min_idle: Option<Duration>,
    ) -> Result<Self, BrokerError> {
        let now = Instant::now();
        let mut reader = Self {
            line,
            make_group,
            stream,
            consumer: consumer.to_owned(),
            min_idle,
            in_hand: HashSet::new(),
            next_look: Some(now),
            doubt_until: now + DOUBT,
        };
        let mut patience = Patience::lasting(reader.line.endpoint().retry_for);
        while let Err(refusal) = reader.make_group().await {
            patience.or_give_up(refusal).await?;
        }
        Ok(reader)
    }

    async fn make_group(&mut self) -> Result<(), Refusal> {
        let mut make = self.make_group.prepare_invoke();
        make.key(&self.stream).arg(GROUP);
        self.line.ask(&make, Duration::ZERO).await
    }

    /// One step towards the next deliveries, which may find none.
    async fn step(&mut self, max: usize, deadline: Instant) -> Result<Vec<Delivery>, Refusal> {
        let now = Instant::now();
        if self.line.take_doubt() {
            self.doubt_until = now + DOUBT;
            self.next_look = Some(now);
        }
        if self.next_look.is_some_and(|look| look <= now) {
            let found = self.look(max).await?;
            if !found.is_empty() {
                return Ok(found);
            }
            let interval = self.min_idle.unwrap_or(LOOK_INTERVAL);
            let interval = interval.clamp(LEAST_LOOK_INTERVAL, LOOK_INTERVAL);
            let is_needed = self.min_idle.is_some() || now < self.doubt_until;
            self.next_look = is_needed.then(|| now + interval);
        }
        let until = self.next_look.map_or(deadline, |look| look.min(deadline));
        let block = until.saturating_duration_since(Instant::now());
        self.read_new(max, block).await
    }

    /// Reads what was never delivered.
    async fn read_new(&mut self, max: usize, block: Duration) -> Result<Vec<Delivery>, Refusal> {
        let mut read = cmd("XREADGROUP");
        read.arg("GROUP").arg(GROUP).arg(&self.consumer);
        read.arg("COUNT").arg(max);
        // The server takes 0 for "for ever".
        if millis(block) > 0 {
            read.arg("BLOCK").arg(millis(block));
        }
        read.arg("STREAMS").arg(&self.stream).arg(">");
        let ReadAnswer(entries) = self.line.ask(&read, block).await?;
        let fresh = entries.into_iter().map(|entry| (entry, 1));
        Ok(self.hand_over(fresh))
    }

    /// Takes deliveries that stand unacknowledged and are not in hand.
    async fn look(&mut self, max: usize) -> Result<Vec<Delivery>, Refusal> {
        let consumer = self.consumer.clone();
        let own = self.pending(max, None, Some(&consumer)).await?;
        if !own.is_empty() {
            let (found, gone) = self.claim(own, Duration::ZERO).await?;
            // Removed by somebody else while the delivery stood: nothing is left to do for them.
            self.acknowledge(&gone).await?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        let Some(min_idle) = self.min_idle else {
            return Ok(Vec::new());
        };
        let left = self.pending(max, Some(min_idle), None).await?;
        if left.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.claim(left, min_idle).await?.0)
    }

    /// Lists at most `max` deliveries that are not in hand.
    async fn pending(
        &mut self,
        max: usize,
        idle: Option<Duration>,
        consumer: Option<&str>,
    ) -> Result<Vec<Pending>, Refusal> {
        let mut found = Vec::new();
        let mut from = "-".to_owned();
        loop {
            let mut list = cmd("XPENDING");
            list.arg(&self.stream).arg(GROUP);
            if let Some(idle) = idle {
                list.arg("IDLE").arg(millis(idle));
            }
            list.arg(&from).arg("+").arg(PENDING_PAGE);
            if let Some(consumer) = consumer {
                list.arg(consumer);
            }
            let page: Vec<(String, String, u64, u32)> =
                self.line.ask(&list, Duration::ZERO).await?;
            let is_last = page.len() < PENDING_PAGE;
            if let Some((last, ..)) = page.last() {
                from = format!("({last}");
            }
            let others = page
                .into_iter()
                .filter(|(id, ..)| !self.in_hand.contains(id))
                .map(|(id, _, _, delivery_count)| Pending { id, delivery_count });
            found.extend(others);
            if is_last || found.len() >= max {
                found.truncate(max);
                return Ok(found);
            }
        }
    }

    /// Takes over deliveries that are still as idle; answers with them, and with the ids of those that are gone.
    async fn claim(
        &mut self,
        pending: Vec<Pending>,
        min_idle: Duration,
    ) -> Result<(Vec<Delivery>, Vec<String>), Refusal> {
        let mut claim = cmd("XCLAIM");
        claim.arg(&self.stream).arg(GROUP).arg(&self.consumer);
        claim.arg(millis(min_idle));
        for one in &pending {
            claim.arg(&one.id);
        }
        let Entries(mut entries) = self.line.ask(&claim, Duration::ZERO).await?;
        let mut claimed = Vec::with_capacity(entries.len());
        let mut gone = Vec::new();
        for one in pending {
            match entries.iter().position(|entry| entry.id == one.id) {
                Some(at) => claimed.push((entries.swap_remove(at), one.delivery_count + 1)),
                None => gone.push(one.id),
            }
        }
        Ok((self.hand_over(claimed.into_iter()), gone))
    }

    fn hand_over(&mut self, entries: impl Iterator<Item = (Entry, u32)>) -> Vec<Delivery> {
        let deliveries = entries.map(|(mut entry, delivery_count)| Delivery {
            // An entry of another form is handed on empty: the reader's own check refuses and acknowledges it.
            body: entry.take("m").unwrap_or_default(),
            id: entry.id,
            delivery_count,
        });
        let deliveries: Vec<Delivery> = deliveries.collect();
        let ids = deliveries.iter().map(|delivery| delivery.id.clone());
        self.in_hand.extend(ids);
        deliveries
    }

    async fn acknowledge(&mut self, ids: &[String]) -> Result<(), Refusal> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut end = pipe();
        end.atomic();
        end.cmd("XACK").arg(&self.stream).arg(GROUP).arg(ids);
        end.ignore();
        end.cmd("XDEL").arg(&self.stream).arg(ids).ignore();
        self.line.ask(&end, Duration::ZERO).await
    }

    /// Makes good for what failed, so that the next step can succeed; gives the refusal back if that is not possible.
    async fn recover(&mut self, refusal: Refusal, patience: &mut Patience) -> Result<(), Refusal> {
        match refusal {
            Refusal::NoGroup => {
                tracing::warn!(stream = %self.stream, "stream was gone, made again");
                self.in_hand.clear();
                match self.make_group().await {
                    Ok(()) => Ok(()),
                    Err(refusal) => patience.or_give_up(refusal).await,
                }
            }
            other => patience.or_give_up(other).await,
        }
    }
}

#[async_trait]
impl StreamReader for RedisStreamReader {
    async fn read(&mut self, max: usize, block: Duration) -> Result<Vec<Delivery>, BrokerError> {
        let block = block.min(BLOCK_MAX);
        let deadline = Instant::now() + block;
        let mut patience = Patience::lasting(self.line.endpoint().retry_for.max(block));
        loop {
            match self.step(max.max(1), deadline).await {
                Ok(found) if !found.is_empty() || Instant::now() >= deadline => return Ok(found),
                Ok(_) => {}
                Err(refusal) => self.recover(refusal, &mut patience).await?,
            }
        }
    }

    async fn ack(&mut self, ids: &[String]) -> Result<(), BrokerError> {
        let mut patience = Patience::lasting(self.line.endpoint().retry_for);
        while let Err(refusal) = self.acknowledge(ids).await {
            self.recover(refusal, &mut patience).await?;
        }
        for id in ids {
            self.in_hand.remove(id);
        }
        Ok(())
    }
}
