//! Who leads, and the cluster's clock.

use std::time::Duration;

use redis::{cmd, pipe};

use super::RedisBroker;
use crate::broker::{BrokerError, LeaderToken};
use crate::protocol::UnixMicros;

impl RedisBroker {
    pub(super) async fn time(&self) -> Result<UnixMicros, BrokerError> {
        let (seconds, micros): (u64, u64) = self.control.ask(&cmd("TIME")).await?;
        Ok(UnixMicros(
            seconds.saturating_mul(1_000_000).saturating_add(micros),
        ))
    }

    pub(super) async fn epoch(&self) -> Result<UnixMicros, BrokerError> {
        let key = self.keys.epoch();
        let mut get = cmd("GET");
        get.arg(&key);
        if let Some(epoch) = self.control.ask(&get).await? {
            return Ok(UnixMicros(epoch));
        }
        let now = self.time().await?.0;
        let mut once = pipe();
        once.cmd("SET").arg(&key).arg(now).arg("NX").ignore();
        once.cmd("GET").arg(&key);
        let (epoch,): (u64,) = self.control.ask(&once).await?;
        Ok(UnixMicros(epoch))
    }

    pub(super) async fn take_lead(
        &self,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<LeaderToken>, BrokerError> {
        let mark: u64 = rand::random();
        let mut call = self.scripts.acquire_leadership.prepare_invoke();
        call.key(self.keys.leader()).key(self.keys.leader_token());
        call.arg(holder).arg(mark).arg(millis(ttl));
        let token: Option<u64> = self.control.ask(&call).await?;
        Ok(token.map(LeaderToken))
    }

    pub(super) async fn renew_lead(
        &self,
        holder: &str,
        token: LeaderToken,
        ttl: Duration,
    ) -> Result<bool, BrokerError> {
        let mut call = self.scripts.renew_leadership.prepare_invoke();
        call.key(self.keys.leader());
        call.arg(holder).arg(token.0).arg(millis(ttl));
        Ok(self.control.ask(&call).await?)
    }
}

/// A duration as the server counts it; more than it can count lasts a million years.
pub(super) fn millis(duration: Duration) -> u64 {
    const LONGEST: u64 = 1_000_000 * 365 * 24 * 3600 * 1000;
    u64::try_from(duration.as_millis())
        .unwrap_or(LONGEST)
        .min(LONGEST)
}
