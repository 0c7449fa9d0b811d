//! Lists of jobs: hints that are written beside the records, and corrected when they are read.

use std::time::Duration;

use redis::{Pipeline, cmd, pipe};
use uuid::Uuid;

use super::RedisBroker;
use crate::broker::BrokerError;
use crate::protocol::{JobId, UnixMicros};

/// Jobs looked at in one exchange.
const PAGE: usize = 256;

/// Oldest listed jobs looked at whenever one ends: one is listed and up to this many are forgotten, so that the list
/// never outgrows the jobs that are kept.
const OLDEST_PER_END: usize = 8;

/// How long a listed job may be without a record, because whoever creates it is at it.
const UNBORN_GRACE: Duration = Duration::from_secs(600);

impl RedisBroker {
    pub(super) async fn list_job(&self, job: JobId) -> Result<(), BrokerError> {
        let mut add = pipe();
        for key in [self.keys.active(), self.keys.recent()] {
            add.cmd("ZADD").arg(key).arg(0).arg(job.to_string());
            add.ignore();
        }
        Ok(self.control.ask(&add).await?)
    }

    pub(super) async fn unlist_ended_job(&self, job: JobId) -> Result<(), BrokerError> {
        let mut remove = cmd("ZREM");
        remove.arg(self.keys.active()).arg(job.to_string());
        self.control.ask::<()>(&remove).await?;
        let mut oldest = cmd("ZRANGE");
        oldest
            .arg(self.keys.recent())
            .arg(0)
            .arg(OLDEST_PER_END - 1);
        let oldest = read_ids(self.control.ask(&oldest).await?);
        let missing = self.sort_out(&oldest, State::is_kept).await?.1;
        self.forget(&self.keys.recent(), &missing).await
    }

    pub(super) async fn list_active(&self) -> Result<Vec<JobId>, BrokerError> {
        let mut all = cmd("ZRANGE");
        all.arg(self.keys.active()).arg(0).arg(-1);
        let all = read_ids(self.control.ask(&all).await?);
        let mut active = Vec::with_capacity(all.len());
        for page in all.chunks(PAGE) {
            let (found, over) = self.sort_out(page, State::is_active).await?;
            active.extend(found);
            self.forget(&self.keys.active(), &over).await?;
        }
        Ok(active)
    }

    pub(super) async fn list_recent(
        &self,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<JobId>, BrokerError> {
        let mut recent = Vec::new();
        let mut before = before;
        while recent.len() < limit {
            let count = (limit - recent.len()).min(PAGE);
            let from = before.map_or_else(|| "+".to_owned(), |job| format!("({job}"));
            let mut page = cmd("ZREVRANGEBYLEX");
            page.arg(self.keys.recent()).arg(from).arg("-");
            page.arg("LIMIT").arg(0).arg(count);
            let page = read_ids(self.control.ask(&page).await?);
            let Some(last) = page.last() else {
                break;
            };
            before = Some(*last);
            let (found, over) = self.sort_out(&page, State::is_kept).await?;
            recent.extend(found);
            self.forget(&self.keys.recent(), &over).await?;
        }
        Ok(recent)
    }

    /// Tells those that belong into a list from those that do not (any more).
    async fn sort_out(
        &self,
        jobs: &[JobId],
        belongs: impl Fn(&State) -> bool,
    ) -> Result<(Vec<JobId>, Vec<JobId>), BrokerError> {
        if jobs.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let mut look = Pipeline::new();
        for job in jobs {
            look.cmd("HMGET").arg(self.keys.job(*job));
            look.arg("version").arg("ended");
        }
        let states: Vec<(Option<u64>, Option<u64>)> = self.control.ask(&look).await?;
        let now = self.time().await?;
        let (mut found, mut over) = (Vec::new(), Vec::new());
        for (job, (version, ended)) in jobs.iter().zip(states) {
            let state = State {
                is_there: version.is_some(),
                has_ended: ended.is_some(),
            };
            if belongs(&state) {
                found.push(*job);
            } else if state.is_there || !may_be_unborn(*job, now) {
                over.push(*job);
            }
        }
        Ok((found, over))
    }

    async fn forget(&self, list: &str, jobs: &[JobId]) -> Result<(), BrokerError> {
        if jobs.is_empty() {
            return Ok(());
        }
        let mut remove = cmd("ZREM");
        remove.arg(list);
        for job in jobs {
            remove.arg(job.to_string());
        }
        Ok(self.control.ask(&remove).await?)
    }
}

struct State {
    is_there: bool,
    has_ended: bool,
}

impl State {
    const fn is_active(&self) -> bool {
        self.is_there && !self.has_ended
    }

    const fn is_kept(&self) -> bool {
        self.is_there
    }
}

/// True if the job was named so recently that its record may still be on its way.
fn may_be_unborn(job: JobId, now: UnixMicros) -> bool {
    let Some(named) = Uuid::from_u128(job.trace_id()).get_timestamp() else {
        return true;
    };
    let (seconds, nanos) = named.to_unix();
    let named =
        UnixMicros(seconds.saturating_mul(1_000_000)).plus(Duration::from_nanos(nanos.into()));
    now.since(named) < UNBORN_GRACE
}

/// Ids as they are listed; others' entries are passed over.
fn read_ids(listed: Vec<String>) -> Vec<JobId> {
    let ids = listed.into_iter().filter_map(|id| id.parse().ok());
    ids.collect()
}
