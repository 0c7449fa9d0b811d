//! Every Redis key name, in one table.
//!
//! | key | holds |
//! |---|---|
//! | `job:{<job>}` | hash: version, leader, fingerprint, record, and a field `u:<unit>` per unit |
//! | `unit:{<job>}:<unit>` | hash: the coordinator's record and tokens, the workers' marks |
//! | `proof:{<job>}:<unit>` | string: the unit's result, set once |
//! | `input:{<job>}` | hash: the input in pieces |
//! | `timeline:{<job>}` | list: timeline records |
//! | `assignment:{<job>}:<partition>:<attempt>` | stream: chunks, then the manifest |
//! | `inbox:{<worker>}`, `control:{<worker>}` | streams: messages to a worker |
//! | `events` | stream: messages to the coordinator |
//! | `worker:{<worker>}` | string with expiry: the heartbeat's record |
//! | `workers` | set: ids of workers, dead ones among them |
//! | `circuits` | hash: records of circuit programs by id |
//! | `{leader}`, `{leader}-token` | hash with expiry: who leads; counter: the last token granted |
//! | `sealing` | string: fingerprint of the cluster key, where there is one |
//! | `epoch` | string: the instant from which timelines count |
//! | `idempotency:{<digest of the key>}` | string with expiry: the job and request it is bound to |
//! | `jobs:active`, `jobs:recent` | sorted sets of job ids, all of score 0: ids sort by creation |
//! | `{dead-letters}`, `{dead-letters}-bodies` | sorted set of job ids by filing; hash: the letters |
//!
//! Braces are literal: keys with the same text in braces share one cluster slot. Everything has the prefix in front.

use std::fmt::Display;

use super::{BrokerError, PayloadKey};
use crate::protocol::{Digest, JobId, Unit, WorkerId};

/// Prefix of all keys unless configured otherwise.
pub const DEFAULT_PREFIX: &str = "proofmill";

/// Longest accepted prefix: it is part of every key.
const PREFIX_LEN_MAX: usize = 64;

/// Names of a cluster's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    prefix: String,
}

impl Keys {
    /// Checks and wraps a prefix.
    ///
    /// # Errors
    /// [`BrokerError::Config`] if the prefix is empty, too long, or holds other characters than `a-z A-Z 0-9 . _ - :`.
    pub fn new(prefix: &str) -> Result<Self, BrokerError> {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
        if prefix.is_empty() || prefix.len() > PREFIX_LEN_MAX || !prefix.chars().all(legal) {
            return Err(BrokerError::Config {
                reason: format!(
                    "key prefix {prefix:?} is not 1 to {PREFIX_LEN_MAX} characters of a-z A-Z 0-9 . _ - :"
                ),
            });
        }
        Ok(Self {
            prefix: prefix.to_owned(),
        })
    }

    fn global(&self, name: &str) -> String {
        format!("{}:{name}", self.prefix)
    }

    fn tagged(&self, name: &str, tag: impl Display) -> String {
        format!("{}:{name}:{{{tag}}}", self.prefix)
    }

    /// Hash of a job.
    #[must_use]
    pub fn job(&self, job: JobId) -> String {
        self.tagged("job", job)
    }

    /// What the keys of a job's units begin with; the unit follows.
    #[must_use]
    pub fn unit_stem(&self, job: JobId) -> String {
        format!("{}:", self.tagged("unit", job))
    }

    /// Hash of a unit.
    #[must_use]
    pub fn unit(&self, job: JobId, unit: Unit) -> String {
        format!("{}{unit}", self.unit_stem(job))
    }

    /// What the keys of a job's results begin with; the unit follows.
    #[must_use]
    pub fn proof_stem(&self, job: JobId) -> String {
        format!("{}:", self.tagged("proof", job))
    }

    /// Result of a unit.
    #[must_use]
    pub fn proof(&self, job: JobId, unit: Unit) -> String {
        format!("{}{unit}", self.proof_stem(job))
    }

    /// Input of a job.
    #[must_use]
    pub fn input(&self, job: JobId) -> String {
        self.tagged("input", job)
    }

    /// Timeline of a job.
    #[must_use]
    pub fn timeline(&self, job: JobId) -> String {
        self.tagged("timeline", job)
    }

    /// Assignment stream of an attempt.
    #[must_use]
    pub fn assignment(&self, key: &PayloadKey) -> String {
        let stem = self.tagged("assignment", key.job);
        format!("{stem}:{}:{}", key.partition, key.attempt)
    }

    /// Inbox of a worker.
    #[must_use]
    pub fn inbox(&self, worker: &WorkerId) -> String {
        self.tagged("inbox", worker)
    }

    /// Control stream of a worker.
    #[must_use]
    pub fn control(&self, worker: &WorkerId) -> String {
        self.tagged("control", worker)
    }

    /// Events of all workers.
    #[must_use]
    pub fn events(&self) -> String {
        self.global("events")
    }

    /// Heartbeat of a worker.
    #[must_use]
    pub fn worker(&self, worker: impl Display) -> String {
        self.tagged("worker", worker)
    }

    /// Ids of workers.
    #[must_use]
    pub fn workers(&self) -> String {
        self.global("workers")
    }

    /// Circuit programs.
    #[must_use]
    pub fn circuits(&self) -> String {
        self.global("circuits")
    }

    /// Who leads.
    #[must_use]
    pub fn leader(&self) -> String {
        self.global("{leader}")
    }

    /// The last token of leadership that was granted.
    #[must_use]
    pub fn leader_token(&self) -> String {
        self.global("{leader}-token")
    }

    /// The fingerprint of the cluster key.
    #[must_use]
    pub fn sealing(&self) -> String {
        self.global("sealing")
    }

    /// The instant from which timelines count.
    #[must_use]
    pub fn epoch(&self) -> String {
        self.global("epoch")
    }

    /// What an idempotency key is bound to. Keys are the client's own text: the digest keeps them short and plain.
    #[must_use]
    pub fn idempotency(&self, key: &str) -> String {
        self.tagged("idempotency", Digest::of(key.as_bytes()))
    }

    /// Jobs that are not in a terminal state.
    #[must_use]
    pub fn active(&self) -> String {
        self.global("jobs:active")
    }

    /// All jobs, ended ones until their retention is over.
    #[must_use]
    pub fn recent(&self) -> String {
        self.global("jobs:recent")
    }

    /// Jobs with dead letters, in the order of filing.
    #[must_use]
    pub fn dead_letters(&self) -> String {
        self.global("{dead-letters}")
    }

    /// The dead letters by job.
    #[must_use]
    pub fn dead_letter_bodies(&self) -> String {
        self.global("{dead-letters}-bodies")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text between the first braces, by which Redis Cluster picks a slot.
    fn tag(key: &str) -> &str {
        key.split_once('{').unwrap().1.split_once('}').unwrap().0
    }

    #[test]
    fn keys_of_one_job_share_one_slot() {
        let (keys, job) = (Keys::new("mill-1").unwrap(), JobId::generate());
        let payload = PayloadKey {
            job,
            partition: 3,
            attempt: 2,
        };
        let all = [
            keys.job(job),
            keys.unit(job, Unit::Plan),
            keys.unit(job, Unit::Partition(7)),
            keys.proof(job, Unit::Finish),
            keys.input(job),
            keys.timeline(job),
            keys.assignment(&payload),
        ];
        for key in &all {
            assert_eq!(tag(key), job.to_string(), "{key}");
            assert!(key.starts_with("mill-1:"), "{key}");
        }
        assert_eq!(
            keys.unit(job, Unit::Plan),
            format!("mill-1:unit:{{{job}}}:plan")
        );
        assert_eq!(tag(&keys.leader()), tag(&keys.leader_token()));
        assert_eq!(tag(&keys.dead_letters()), tag(&keys.dead_letter_bodies()));
    }

    #[test]
    fn a_prefix_that_would_move_the_slot_is_refused() {
        assert!(Keys::new("a{b}").is_err());
        assert!(Keys::new("").is_err());
        assert!(Keys::new(&"x".repeat(PREFIX_LEN_MAX + 1)).is_err());
        assert!(Keys::new(DEFAULT_PREFIX).is_ok());
    }
}
