//! The keys of jobs as this process holds them, and the mark by which processes notice that theirs differ.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use redis::{cmd, pipe};

use super::link::Link;
use crate::broker::keys::Keys;
use crate::broker::seal::{ClusterKey, JobKey, SealError, is_sealed};
use crate::broker::{BrokerError, PayloadEntry, PayloadKey};
use crate::protocol::JobId;

/// Field of an input's hash that holds the job's key, wrapped: it comes and goes with the input.
pub(super) const WRAPPED_KEY: &str = "key";

/// Most keys of jobs held: more than a worker has to do with at a time.
const HELD_KEYS_MAX: usize = 256;

/// Seals and opens under a cluster key.
pub(super) struct Sealing {
    cluster: Arc<ClusterKey>,
    control: Arc<Link>,
    keys: Keys,
    held: Mutex<HeldKeys>,
}

/// Keys of jobs, the oldest first to go.
#[derive(Default)]
struct HeldKeys {
    by_job: HashMap<JobId, Arc<JobKey>>,
    order: VecDeque<JobId>,
}

impl HeldKeys {
    fn insert(&mut self, job: JobId, key: Arc<JobKey>) {
        if self.by_job.insert(job, key).is_none() {
            self.order.push_back(job);
        }
        if self.order.len() > HELD_KEYS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_job.remove(&oldest);
        }
    }
}

impl fmt::Debug for Sealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealing").finish_non_exhaustive()
    }
}

impl Sealing {
    pub(super) fn new(cluster: Arc<ClusterKey>, control: Arc<Link>, keys: Keys) -> Self {
        Self {
            cluster,
            control,
            keys,
            held: Mutex::default(),
        }
    }

    /// A new key for a job, and the form in which it is stored.
    pub(super) fn new_job_key(&self, job: JobId) -> Result<(Arc<JobKey>, Bytes), BrokerError> {
        let key = Arc::new(JobKey::random()?);
        let wrapped = self.cluster.wrap(job, &key)?;
        self.held.lock().insert(job, Arc::clone(&key));
        Ok((key, wrapped))
    }

    /// The key of a job whose input is there.
    pub(super) async fn job_key(&self, job: JobId) -> Result<Arc<JobKey>, BrokerError> {
        if let Some(key) = self.held.lock().by_job.get(&job) {
            return Ok(Arc::clone(key));
        }
        let mut get = cmd("HGET");
        get.arg(self.keys.input(job)).arg(WRAPPED_KEY);
        let wrapped: Option<Bytes> = self.control.ask(&get).await?;
        let key = Arc::new(
            self.cluster
                .unwrap(job, wrapped.ok_or(SealError::JobKeyGone)?)?,
        );
        self.held.lock().insert(job, Arc::clone(&key));
        Ok(key)
    }

    /// Seals an entry.
    pub(super) async fn seal(
        &self,
        key: &PayloadKey,
        entry: &PayloadEntry,
    ) -> Result<PayloadEntry, BrokerError> {
        Ok(self.job_key(key.job).await?.seal_entry(key, entry)?)
    }

    /// Opens entries.
    pub(super) async fn open(
        &self,
        key: &PayloadKey,
        entries: Vec<PayloadEntry>,
    ) -> Result<Vec<PayloadEntry>, BrokerError> {
        if entries.is_empty() {
            return Ok(entries);
        }
        let job_key = self.job_key(key.job).await?;
        let opened = entries
            .into_iter()
            .map(|entry| job_key.open_entry(key, entry));
        Ok(opened.collect::<Result<_, _>>()?)
    }
}

/// Refuses sealed entries, which a process without a key cannot read.
pub(super) fn refuse_sealed(entries: &[PayloadEntry]) -> Result<(), BrokerError> {
    let is_any_sealed = entries.iter().any(|entry| {
        let (PayloadEntry::Chunk { bytes, .. } | PayloadEntry::Manifest(bytes)) = entry;
        is_sealed(bytes)
    });
    if is_any_sealed {
        return Err(SealError::NoKey.into());
    }
    Ok(())
}

/// Compares this process's key with the one that the cluster was started with; the first with a key leaves the mark.
pub(super) async fn compare_keys(
    control: &Link,
    keys: &Keys,
    sealing: Option<&Sealing>,
) -> Result<(), BrokerError> {
    let mark = keys.sealing();
    let mut ask = pipe();
    ask.atomic();
    if let Some(sealing) = sealing {
        let fingerprint = sealing.cluster.fingerprint();
        ask.cmd("SET")
            .arg(&mark)
            .arg(fingerprint)
            .arg("NX")
            .ignore();
    }
    ask.cmd("GET").arg(&mark);
    let (found,): (Option<String>,) = control.ask(&ask).await?;
    let own = sealing.map(|sealing| sealing.cluster.fingerprint());
    if found == own {
        return Ok(());
    }
    let reason = if own.is_none() {
        format!(
            "its cluster is sealed: set broker.cluster_key to that of the other processes, or delete the key {mark} if the cluster is to run unsealed"
        )
    } else {
        format!(
            "its cluster is sealed under another key: correct broker.cluster_key; to change it, let all jobs end, stop all processes and delete the key {mark}"
        )
    };
    Err(BrokerError::Unsuitable {
        server: control.endpoint().server.clone(),
        reason,
    })
}
