//! Jobs that were there before this coordinator led.

use std::sync::Arc;

use actix::{AsyncContext, Handler, Message};
use futures::StreamExt;
use proofmill_shared::broker::BrokerError;
use proofmill_shared::protocol::JobId;

use super::durable::{self, LoadedJob};
use super::slot::Input;
use super::{JobSupervisor, Lead};
use crate::actors::ending::{Alarm, CoordinatorEnd};
use crate::actors::event_reader::BeginReading;
use crate::actors::insist::insist;
use crate::actors::site::Site;
use crate::actors::worker_registry::{BeginWatching, Expect};

/// Jobs read at a time.
const LOADS_AT_A_TIME: usize = 32;

/// Every active job was read.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct Recovered {
    jobs: Result<Vec<LoadedJob>, BrokerError>,
}

impl Handler<Lead> for JobSupervisor {
    type Result = ();

    fn handle(&mut self, _: Lead, ctx: &mut Self::Context) {
        self.site.set_ready(false);
        let (site, supervisor) = (Arc::clone(&self.site), ctx.address());
        let alarm = Alarm::new(Arc::clone(&self.site), "recovery");
        actix::spawn(async move {
            let _alarm = alarm;
            let jobs = read_active(&site).await;
            supervisor.do_send(Recovered { jobs });
        });
    }
}

impl Handler<Recovered> for JobSupervisor {
    type Result = ();

    fn handle(&mut self, message: Recovered, ctx: &mut Self::Context) {
        let jobs = match message.jobs {
            Ok(jobs) => jobs,
            Err(error) => {
                tracing::error!(%error, "jobs cannot be read, the coordinator ends");
                let reason = error.to_string();
                self.site.finish(CoordinatorEnd::Broker { reason });
                return;
            }
        };
        // Another coordinator may have led in between.
        let known: Vec<JobId> = self.jobs.keys().copied().collect();
        for id in known {
            if self.input(id, Input::Reload, ctx).is_some() {
                tracing::debug!(job = %id, "job is not here");
            }
        }
        let mut recovered = 0u32;
        for loaded in jobs {
            let id = loaded.job.record().id;
            if self.jobs.contains_key(&id) || loaded.job.state().is_terminal() {
                continue;
            }
            recovered += 1;
            self.resume(&loaded.job);
            self.take_in(loaded);
            // What was made durable while nobody led is found by its marks.
            if self.input(id, Input::CheckMarks, ctx).is_some() {
                tracing::debug!(job = %id, "job is not here");
            }
        }
        tracing::info!(recovered, "jobs rebuilt, taking work");
        self.site.set_ready(true);
        if let Some(registry) = &self.registry {
            let lives = self.scheduler.holders();
            registry.do_send(Expect { lives });
            registry.do_send(BeginWatching);
        }
        if let Some(reader) = &self.reader {
            reader.do_send(BeginReading);
        }
        self.schedule(ctx);
    }
}

async fn read_active(site: &Site) -> Result<Vec<LoadedJob>, BrokerError> {
    let active = insist(site, "list active jobs", async || {
        site.broker().active_jobs().await
    });
    let loads = futures::stream::iter(active.await?.answer)
        .map(|id| durable::load(site, id))
        .buffer_unordered(LOADS_AT_A_TIME);
    let loaded: Vec<_> = loads.collect().await;
    loaded.into_iter().filter_map(Result::transpose).collect()
}
