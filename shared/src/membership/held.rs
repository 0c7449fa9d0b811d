//! What this worker holds: one ticket per assigned task.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use crate::protocol::{Control, HeldTask, JobId, TaskKey};

/// Says that a task is no longer wanted; checked between steps.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// True once the task is no longer wanted.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Says that the task is no longer wanted.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }
}

#[derive(Debug)]
struct Entry {
    is_started: bool,
    progress: Arc<AtomicU64>,
    cancel: CancelFlag,
}

/// Every task this worker holds, by its key. Cheap to clone; all clones share the table.
#[derive(Debug, Clone, Default)]
pub(super) struct HeldTable {
    entries: Arc<Mutex<HashMap<TaskKey, Entry>>>,
    /// Woken whenever a task is let go.
    released: Arc<Notify>,
}

impl HeldTable {
    /// Takes a task in; `None` if it is held already (a delivery that came twice).
    pub(super) fn hold(
        &self,
        key: TaskKey,
        delivery: String,
        acks: mpsc::UnboundedSender<String>,
    ) -> Option<Ticket> {
        let mut entries = self.entries.lock();
        if entries.contains_key(&key) {
            return None;
        }
        let progress = Arc::new(AtomicU64::new(0));
        let cancel = CancelFlag::default();
        let entry = Entry {
            is_started: false,
            progress: Arc::clone(&progress),
            cancel: cancel.clone(),
        };
        entries.insert(key, entry);
        Some(Ticket {
            key,
            progress,
            cancel,
            delivery: Some(delivery),
            acks,
            table: self.clone(),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.entries.lock().len()
    }

    /// The held tasks as the heartbeat shows them.
    pub(super) fn snapshot(&self) -> Vec<HeldTask> {
        let entries = self.entries.lock();
        let mut held: Vec<HeldTask> = entries
            .iter()
            .map(|(key, entry)| HeldTask {
                key: *key,
                is_started: entry.is_started,
                progress: entry.progress.load(Ordering::Relaxed),
            })
            .collect();
        held.sort_by_key(|task| task.key);
        held
    }

    /// Raises the flag of whatever a control order names; answers how many tasks it met.
    pub(super) fn obey(&self, order: &Control) -> usize {
        let named = |key: &TaskKey| match order {
            Control::CancelJob { job } => key.job == *job,
            Control::TakeBack { key: taken } => key == taken,
        };
        let entries = self.entries.lock();
        let met = entries.iter().filter(|(key, _)| named(key));
        met.map(|(_, entry)| entry.cancel.raise()).count()
    }

    /// Waits until nothing is held, at most `limit`; true if nothing is held.
    pub(super) async fn emptied(&self, limit: Duration) -> bool {
        let wait = async {
            loop {
                let released = self.released.notified();
                if self.len() == 0 {
                    return;
                }
                released.await;
            }
        };
        tokio::time::timeout(limit, wait).await.is_ok()
    }

    fn release(&self, key: &TaskKey) {
        self.entries.lock().remove(key);
        self.released.notify_waiters();
    }

    #[cfg(test)]
    pub(super) fn holds(&self, job: JobId) -> bool {
        self.entries.lock().keys().any(|key| key.job == job)
    }
}

/// Stands for holding one task. [`Ticket::settle`] acknowledges it; dropping it without that gives the task up
/// unacknowledged, which the coordinator sees in the next heartbeat.
#[derive(Debug)]
pub struct Ticket {
    key: TaskKey,
    progress: Arc<AtomicU64>,
    cancel: CancelFlag,
    delivery: Option<String>,
    acks: mpsc::UnboundedSender<String>,
    table: HeldTable,
}

impl Ticket {
    /// The attempt.
    #[must_use]
    pub const fn key(&self) -> &TaskKey {
        &self.key
    }

    /// The job.
    #[must_use]
    pub const fn job(&self) -> JobId {
        self.key.job
    }

    /// Says that the start was accepted.
    pub fn mark_started(&self) {
        if let Some(entry) = self.table.entries.lock().get_mut(&self.key) {
            entry.is_started = true;
        }
    }

    /// Counts one step of progress: a task that makes none for too long is taken for stalled.
    pub fn advance(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }

    /// The flag that cancels this task.
    #[must_use]
    pub fn cancel_flag(&self) -> CancelFlag {
        self.cancel.clone()
    }

    /// Lets the task go for good: its effect is durable, or it was refused or given back.
    pub fn settle(mut self) {
        if let Some(delivery) = self.delivery.take()
            && self.acks.send(delivery).is_err()
        {
            tracing::debug!(key = ?self.key, "inbox is closed, acknowledgement is left to the next reader");
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.table.release(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{FencingToken, Stage, Unit};

    fn key(job: JobId, token: u64) -> TaskKey {
        TaskKey {
            job,
            unit: Unit::Partition(0),
            stage: Stage::Synthesis,
            attempt: 1,
            token: FencingToken(token),
        }
    }

    #[test]
    fn a_task_is_held_once() {
        let (table, (acks, _)) = (HeldTable::default(), mpsc::unbounded_channel());
        let key = key(JobId::generate(), 1);
        let ticket = table.hold(key, "1-0".into(), acks.clone()).unwrap();
        assert!(table.hold(key, "2-0".into(), acks.clone()).is_none());
        drop(ticket);
        assert!(table.hold(key, "3-0".into(), acks).is_some());
    }

    #[test]
    fn settling_acknowledges_and_dropping_does_not() {
        let (table, (acks, mut acked)) = (HeldTable::default(), mpsc::unbounded_channel());
        let job = JobId::generate();
        table
            .hold(key(job, 1), "1-0".into(), acks.clone())
            .unwrap()
            .settle();
        drop(table.hold(key(job, 2), "2-0".into(), acks).unwrap());
        assert_eq!(acked.try_recv().unwrap(), "1-0");
        assert!(acked.try_recv().is_err());
        assert!(!table.holds(job));
    }

    #[test]
    fn a_cancelled_job_raises_every_flag_of_it_and_a_take_back_only_one() {
        let (table, (acks, _keep)) = (HeldTable::default(), mpsc::unbounded_channel());
        let (job, other) = (JobId::generate(), JobId::generate());
        let tickets = [key(job, 1), key(job, 2), key(other, 1)]
            .map(|key| table.hold(key, "1-0".into(), acks.clone()).unwrap());
        assert_eq!(table.obey(&Control::TakeBack { key: key(job, 2) }), 1);
        assert_eq!(
            tickets.each_ref().map(|t| t.cancel_flag().is_raised()),
            [false, true, false]
        );
        assert_eq!(table.obey(&Control::CancelJob { job }), 2);
        assert_eq!(
            tickets.each_ref().map(|t| t.cancel_flag().is_raised()),
            [true, true, false]
        );
    }

    #[tokio::test]
    async fn waiting_for_emptiness_ends_with_the_last_ticket() {
        let (table, (acks, _keep)) = (HeldTable::default(), mpsc::unbounded_channel());
        let ticket = table
            .hold(key(JobId::generate(), 1), "1-0".into(), acks)
            .unwrap();
        assert!(!table.emptied(Duration::from_millis(5)).await);
        let waiting = tokio::spawn({
            let table = table.clone();
            async move { table.emptied(Duration::from_secs(5)).await }
        });
        drop(ticket);
        assert!(waiting.await.unwrap());
    }
}
