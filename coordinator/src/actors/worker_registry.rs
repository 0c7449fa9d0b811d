//! Looks at the heartbeats, and tells the supervisor who is there and who is lost.
//!
//! Owns the roster. Receives [`BeginWatching`], [`Expect`] and its own timer. Sends [`RosterSeen`] to the supervisor. Ends
//! with the coordinator.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, WrapFuture};
use proofmill_shared::protocol::{CircuitRecord, WorkerId, WorkerRecord};
use serde::de::DeserializeOwned;

use super::ending::Alarm;
use super::job_supervisor::{JobSupervisor, RosterSeen};
use super::roster::Roster;
use super::site::Site;
use crate::job::WorkerLife;

/// Time between two looks: half a heartbeat, so that a loss is seen soon after the heartbeat lapses.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Looks between two readings of the registered circuits.
const LOOKS_PER_CIRCUITS: u64 = 10;

/// Messages waiting: orders of the coordinator only.
const MAILBOX: usize = 16;

/// Begins to look.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct BeginWatching;

/// Names lives that hold attempts according to jobs that were read back.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Expect {
    pub(super) lives: Vec<WorkerLife>,
}

/// It is time to look.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct LookDue;

/// See the module.
#[derive(Debug)]
pub(super) struct WorkerRegistry {
    site: Arc<Site>,
    supervisor: actix::Addr<JobSupervisor>,
    roster: Roster,
    looks: u64,
    is_watching: bool,
    _alarm: Alarm,
}

impl WorkerRegistry {
    pub(super) fn new(site: Arc<Site>, supervisor: actix::Addr<JobSupervisor>) -> Self {
        Self {
            _alarm: Alarm::new(Arc::clone(&site), "worker registry"),
            site,
            supervisor,
            roster: Roster::default(),
            looks: 0,
            is_watching: false,
        }
    }

    fn take_in(&mut self, records: Vec<WorkerRecord>) -> RosterSeen {
        let look = self.roster.look(records);
        if !look.forgotten.is_empty() {
            actix::spawn(drop_inboxes(Arc::clone(&self.site), look.forgotten));
        }
        for worker in &look.joined {
            tracing::info!(%worker, "worker joined");
        }
        for lost in &look.lost {
            tracing::warn!(worker = %lost.life.worker, cause = lost.cause.code(), "worker lost");
        }
        RosterSeen {
            live: look.live,
            lost: look.lost,
        }
    }
}

impl Actor for WorkerRegistry {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<BeginWatching> for WorkerRegistry {
    type Result = ();

    fn handle(&mut self, _: BeginWatching, ctx: &mut Self::Context) {
        if !std::mem::replace(&mut self.is_watching, true) {
            ctx.notify(LookDue);
        }
    }
}

impl Handler<Expect> for WorkerRegistry {
    type Result = ();

    fn handle(&mut self, message: Expect, _: &mut Self::Context) {
        for life in message.lives {
            self.roster.expect(life);
        }
    }
}

impl Handler<LookDue> for WorkerRegistry {
    type Result = ();

    fn handle(&mut self, _: LookDue, ctx: &mut Self::Context) {
        let site = Arc::clone(&self.site);
        let with_circuits = self.looks.is_multiple_of(LOOKS_PER_CIRCUITS);
        self.looks += 1;
        let look = async move {
            let circuits = if with_circuits {
                read_circuits(&site).await
            } else {
                None
            };
            (site.broker().workers().await, circuits)
        };
        let taken_in = look.into_actor(self).then(|(workers, circuits), actor, _| {
            let seen = match workers {
                Ok(records) => Some(actor.take_in(decode_all(&records, "worker record"))),
                Err(error) => {
                    actor.roster.broker_is_away();
                    tracing::warn!(%error, "heartbeats do not read");
                    None
                }
            };
            let supervisor = actor.supervisor.clone();
            let tell = async move {
                if let Some(circuits) = circuits {
                    supervisor.send(circuits).await?;
                }
                match seen {
                    Some(seen) => supervisor.send(seen).await,
                    None => Ok(()),
                }
            };
            tell.into_actor(actor)
        });
        ctx.spawn(taken_in.map(|told, _, ctx| match told {
            Ok(()) => {
                ctx.notify_later(LookDue, LOOK_EVERY);
            }
            Err(_) => tracing::debug!("supervisor is gone, no further looks"),
        }));
    }
}

/// Removes the streams of workers that are gone for good.
async fn drop_inboxes(site: Arc<Site>, workers: Vec<WorkerId>) {
    for worker in workers {
        tracing::info!(%worker, "worker was lost long ago, its inbox is removed");
        if let Err(error) = site.broker().drop_inbox(&worker).await {
            tracing::warn!(%worker, %error, "inbox is not removed");
        }
    }
}

async fn read_circuits(site: &Site) -> Option<super::job_supervisor::CircuitsSeen> {
    match site.broker().circuits().await {
        Ok(records) => {
            let circuits: Vec<CircuitRecord> = decode_all(&records, "circuit record");
            site.set_circuits(circuits.clone());
            Some(super::job_supervisor::CircuitsSeen { circuits })
        }
        Err(error) => {
            tracing::warn!(%error, "circuits do not read");
            None
        }
    }
}

/// Reads records; one that does not read is left out, and said so.
pub(crate) fn decode_all<T: DeserializeOwned>(records: &[bytes::Bytes], what: &str) -> Vec<T> {
    let read = |record: &bytes::Bytes| match serde_json::from_slice(record) {
        Ok(record) => Some(record),
        Err(error) => {
            tracing::warn!(what, %error, "record does not read, left out");
            None
        }
    };
    records.iter().filter_map(read).collect()
}
