//! Takes the lead, renews it, and stands by while another coordinator has it.
//!
//! Owns the lead's token. Receives its own timer and [`GiveUpLead`]. Sends [`Lead`] to the supervisor. Ends the
//! coordinator when the lead is lost to another one.

use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, Addr, AsyncContext, Context, Handler, Message, ResponseFuture,
    WrapFuture,
};
use proofmill_shared::broker::{BrokerError, LeaderToken, Retryability};

use super::ending::{Alarm, CoordinatorEnd};
use super::job_supervisor::{JobSupervisor, Lead};
use super::site::Site;

/// How long a lead lasts without renewal: a standby takes over this long after the leader died.
pub(super) const LEAD_TTL: Duration = Duration::from_secs(5);

/// Time between two renewals: three chances within the lead's time.
const RENEW_EVERY: Duration = Duration::from_millis(1_500);

/// Time between two tries to take the lead.
const STANDBY_EVERY: Duration = Duration::from_millis(500);

/// Messages waiting: its timer and the order to give up.
const MAILBOX: usize = 4;

/// Gives the lead up, for the next coordinator to have it at once.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct GiveUpLead;

/// It is time to take or renew the lead.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct LeadDue;

/// What a try gave.
#[derive(Debug)]
enum Standing {
    /// Leads now, under a new token.
    Won(LeaderToken),
    /// Leads as before.
    Kept,
    /// Another one leads.
    Standby,
    /// Another one leads, and this one did before.
    Deposed,
}

/// See the module.
#[derive(Debug)]
pub(super) struct LeaderKeeper {
    site: Arc<Site>,
    supervisor: Addr<JobSupervisor>,
    token: Option<LeaderToken>,
    is_standby_told: bool,
    _alarm: Alarm,
}

impl LeaderKeeper {
    pub(super) fn new(site: Arc<Site>, supervisor: Addr<JobSupervisor>) -> Self {
        Self {
            _alarm: Alarm::new(Arc::clone(&site), "leader keeper"),
            site,
            supervisor,
            token: None,
            is_standby_told: false,
        }
    }

    /// Acts on what a try gave; answers when to try again, `None` for never.
    fn stand(&mut self, standing: Result<Standing, BrokerError>) -> Option<Duration> {
        match standing {
            Ok(Standing::Won(token)) => {
                tracing::info!(token = token.0, "leading");
                self.token = Some(token);
                self.site.set_leader(token);
                self.supervisor.do_send(Lead);
                Some(RENEW_EVERY)
            }
            Ok(Standing::Kept) => Some(RENEW_EVERY),
            Ok(Standing::Standby) => {
                if !std::mem::replace(&mut self.is_standby_told, true) {
                    tracing::info!("another coordinator leads, standing by");
                }
                Some(STANDBY_EVERY)
            }
            Ok(Standing::Deposed) => {
                tracing::error!("another coordinator leads, this one ends");
                self.site.finish(CoordinatorEnd::Deposed);
                None
            }
            Err(error) if error.retryability() == Retryability::Transient => {
                tracing::warn!(%error, "lead cannot be taken or renewed, trying again");
                Some(STANDBY_EVERY)
            }
            Err(error) => {
                tracing::error!(%error, "broker cannot be used, the coordinator ends");
                let reason = error.to_string();
                self.site.finish(CoordinatorEnd::Broker { reason });
                None
            }
        }
    }
}

impl Actor for LeaderKeeper {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.notify(LeadDue);
    }
}

impl Handler<LeadDue> for LeaderKeeper {
    type Result = ();

    fn handle(&mut self, _: LeadDue, ctx: &mut Self::Context) {
        if self.site.is_ending() {
            return;
        }
        let tried = stand_for(Arc::clone(&self.site), self.token).into_actor(self);
        ctx.spawn(tried.map(|standing, actor, ctx| {
            if let Some(again) = actor.stand(standing) {
                ctx.notify_later(LeadDue, again);
            }
        }));
    }
}

impl Handler<GiveUpLead> for LeaderKeeper {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: GiveUpLead, _: &mut Self::Context) -> Self::Result {
        let (site, token) = (Arc::clone(&self.site), self.token.take());
        Box::pin(async move {
            let Some(token) = token else { return };
            let holder = &site.options.holder;
            if let Err(error) = site.broker().release_leadership(holder, token).await {
                tracing::warn!(%error, "lead is not given up, it lapses by itself");
            }
        })
    }
}

/// Renews the lead, or tries to take it. A lead that lapsed with nobody taking it (the broker came back without its
/// volatile keys) is taken again.
async fn stand_for(site: Arc<Site>, token: Option<LeaderToken>) -> Result<Standing, BrokerError> {
    let (broker, holder) = (site.broker(), site.options.holder.as_str());
    if site.epoch().0 == 0 {
        site.set_epoch(broker.cluster_epoch().await?);
    }
    if let Some(token) = token
        && broker.renew_leadership(holder, token, LEAD_TTL).await?
    {
        return Ok(Standing::Kept);
    }
    Ok(match broker.acquire_leadership(holder, LEAD_TTL).await? {
        Some(token) => Standing::Won(token),
        None if token.is_some() => Standing::Deposed,
        None => Standing::Standby,
    })
}
