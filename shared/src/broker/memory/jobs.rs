//! Job records and the token-checked writes of workers.

use std::time::Instant;

use bytes::Bytes;

use super::state::{Expiring, JobEntry, State, UnitEntry};
use crate::broker::{
    CommitOutcome, JobCommit, JobIndex, LeaderToken, ResultWrite, StoredJob, TokenCheck, UnitMarks,
    fingerprint,
};
use crate::protocol::{FencingToken, JobId, Stage, TaskKey, Unit};

impl State {
    pub(super) fn create_job(
        &mut self,
        job: JobId,
        leader: LeaderToken,
        record: Bytes,
    ) -> CommitOutcome {
        self.expire();
        let written = Some(fingerprint::of_creation(job, leader, &record));
        if let Some(found) = self.jobs.get(&job) {
            let version = found.value.version;
            if version == 1 && found.value.fingerprint == written {
                return CommitOutcome::Committed { version };
            }
            return CommitOutcome::Conflict { version };
        }
        if let Some(input) = self.inputs.get_mut(&job) {
            input.until = None;
        }
        let entry = JobEntry {
            version: 1,
            leader,
            fingerprint: written,
            record,
            is_active: true,
            ..JobEntry::default()
        };
        self.jobs.insert(job, Expiring::for_good(entry));
        CommitOutcome::Committed { version: 1 }
    }

    pub(super) fn commit(&mut self, commit: JobCommit) -> CommitOutcome {
        self.expire();
        let written = Some(fingerprint::of_commit(&commit));
        let Some(job) = self.jobs.get_mut(&commit.job) else {
            return CommitOutcome::Missing;
        };
        if job.value.version == commit.expected_version + 1 && job.value.fingerprint == written {
            return CommitOutcome::Committed {
                version: job.value.version,
            };
        }
        if job.value.leader > commit.leader {
            return CommitOutcome::Deposed {
                leader: job.value.leader,
            };
        }
        if job.value.version != commit.expected_version {
            return CommitOutcome::Conflict {
                version: job.value.version,
            };
        }
        job.value.version += 1;
        job.value.leader = commit.leader;
        job.value.fingerprint = written;
        job.value.record = commit.record;
        for write in commit.units {
            let unit = job.value.units.entry(write.unit).or_default();
            unit.record = write.record;
            unit.marks.synth_token = write.synth_token;
            unit.marks.prove_token = write.prove_token;
        }
        let version = job.value.version;
        match commit.index {
            JobIndex::Active => {
                job.value.is_active = true;
                job.until = None;
            }
            JobIndex::Ended { retain, drop_input } => {
                job.value.is_active = false;
                let until = Instant::now().checked_add(retain);
                job.until = until;
                if drop_input {
                    self.inputs.remove(&commit.job);
                } else if let Some(input) = self.inputs.get_mut(&commit.job) {
                    input.until = until;
                }
            }
        }
        CommitOutcome::Committed { version }
    }

    pub(super) fn load_job(&mut self, job: JobId) -> Option<StoredJob> {
        self.expire();
        let entry = &self.jobs.get(&job)?.value;
        let units = entry
            .units
            .iter()
            .map(|(unit, entry)| (*unit, (entry.record.clone(), entry.marks)));
        Some(StoredJob {
            version: entry.version,
            record: entry.record.clone(),
            units: units.collect(),
        })
    }

    pub(super) fn active_jobs(&mut self) -> Vec<JobId> {
        self.expire();
        self.jobs
            .iter()
            .filter(|(_, entry)| entry.value.is_active)
            .map(|(job, _)| *job)
            .collect()
    }

    pub(super) fn recent_jobs(&mut self, before: Option<JobId>, limit: usize) -> Vec<JobId> {
        self.expire();
        let newest = self
            .jobs
            .keys()
            .rev()
            .filter(|job| before.is_none_or(|before| **job < before));
        newest.take(limit).copied().collect()
    }

    pub(super) fn start(&mut self, key: &TaskKey) -> TokenCheck {
        self.checked(key, |unit| match key.stage {
            Stage::Synthesis => unit.marks.synth_started = key.token,
            Stage::Proving => unit.marks.prove_started = key.token,
        })
    }

    pub(super) fn mark_shipped(&mut self, key: &TaskKey) -> TokenCheck {
        self.checked(key, |unit| unit.marks.shipped = key.token)
    }

    pub(super) fn store_result(&mut self, key: &TaskKey, result: Bytes) -> ResultWrite {
        let mut written = ResultWrite::AlreadyStored;
        let check = self.checked(key, |unit| {
            if unit.result.is_none() {
                unit.result = Some(result);
                unit.marks.has_result = true;
                written = ResultWrite::Stored;
            }
        });
        match check {
            TokenCheck::Accepted => written,
            TokenCheck::Stale { current } => ResultWrite::Stale { current },
        }
    }

    /// Does a worker's write if its token is the unit's current one for the stage.
    fn checked(&mut self, key: &TaskKey, write: impl FnOnce(&mut UnitEntry)) -> TokenCheck {
        self.expire();
        let unit = self
            .jobs
            .get_mut(&key.job)
            .and_then(|job| job.value.units.get_mut(&key.unit));
        let Some(unit) = unit else {
            return TokenCheck::Stale {
                current: FencingToken::default(),
            };
        };
        let current = match key.stage {
            Stage::Synthesis => unit.marks.synth_token,
            Stage::Proving => unit.marks.prove_token,
        };
        if current != key.token || current == FencingToken::default() {
            return TokenCheck::Stale { current };
        }
        write(unit);
        TokenCheck::Accepted
    }

    pub(super) fn result(&mut self, job: JobId, unit: Unit) -> Option<Bytes> {
        self.expire();
        self.jobs.get(&job)?.value.units.get(&unit)?.result.clone()
    }

    pub(super) fn marks(&mut self, job: JobId, unit: Unit) -> UnitMarks {
        self.expire();
        let entry = self
            .jobs
            .get(&job)
            .and_then(|job| job.value.units.get(&unit));
        entry.map(|unit| unit.marks).unwrap_or_default()
    }

    pub(super) fn append_timeline(&mut self, job: JobId, records: Vec<Bytes>) {
        self.expire();
        if let Some(entry) = self.jobs.get_mut(&job) {
            entry.value.timeline.extend(records);
        }
    }

    pub(super) fn timeline(&mut self, job: JobId) -> Vec<Bytes> {
        self.expire();
        self.jobs
            .get(&job)
            .map(|entry| entry.value.timeline.clone())
            .unwrap_or_default()
    }
}
