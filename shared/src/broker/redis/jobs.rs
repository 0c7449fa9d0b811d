//! Job records: created once, then compare-and-set.

use bytes::Bytes;
use redis::{FromRedisValue, ParsingError, Value};

use super::RedisBroker;
use super::leadership::millis;
use crate::broker::{
    BrokerError, CommitOutcome, JobCommit, JobIndex, LeaderToken, StoredJob, UnitMarks, fingerprint,
};
use crate::protocol::{FencingToken, JobId, Unit};

impl RedisBroker {
    pub(super) async fn write_new_job(
        &self,
        job: JobId,
        leader: LeaderToken,
        record: &Bytes,
    ) -> Result<CommitOutcome, BrokerError> {
        self.control.fits(record)?;
        // Listed before it is there: a crash in between leaves a name without a job, never a job without a name.
        self.list_job(job).await?;
        let fingerprint = fingerprint::of_creation(job, leader, record).to_string();
        let mut call = self.scripts.create_job.prepare_invoke();
        call.key(self.keys.job(job)).key(self.keys.input(job));
        call.arg(leader.0).arg(fingerprint).arg(record.as_ref());
        let Outcome(outcome) = self.control.ask(&call).await?;
        Ok(outcome)
    }

    pub(super) async fn write_job(&self, commit: &JobCommit) -> Result<CommitOutcome, BrokerError> {
        let job = commit.job;
        self.control.fits(&commit.record)?;
        let mut call = self.scripts.commit.prepare_invoke();
        call.key(self.keys.job(job))
            .key(self.keys.input(job))
            .key(self.keys.timeline(job));
        call.arg(self.keys.unit_stem(job))
            .arg(self.keys.proof_stem(job))
            .arg(commit.expected_version)
            .arg(commit.leader.0)
            .arg(fingerprint::of_commit(commit).to_string())
            .arg(commit.record.as_ref());
        let ends = match commit.index {
            JobIndex::Active => {
                call.arg("").arg("0");
                false
            }
            JobIndex::Ended { retain, drop_input } => {
                call.arg(millis(retain)).arg(u8::from(drop_input));
                true
            }
        };
        for write in &commit.units {
            self.control.fits(&write.record)?;
            call.arg(write.unit.to_string())
                .arg(write.record.as_ref())
                .arg(write.synth_token.0)
                .arg(write.prove_token.0);
        }
        let Outcome(outcome) = self.control.ask(&call).await?;
        if ends && matches!(outcome, CommitOutcome::Committed { .. }) {
            self.unlist_ended_job(job).await?;
        }
        Ok(outcome)
    }

    pub(super) async fn read_job(&self, job: JobId) -> Result<Option<StoredJob>, BrokerError> {
        let mut call = self.scripts.load_job.prepare_invoke();
        call.key(self.keys.job(job)).arg(self.keys.unit_stem(job));
        let found: Option<(u64, Bytes, Vec<UnitRow>)> = self.control.ask(&call).await?;
        Ok(found.map(|(version, record, units)| StoredJob {
            version,
            record,
            units: units
                .into_iter()
                .map(|row| (row.unit, (row.record, row.marks)))
                .collect(),
        }))
    }
}

/// What a script answers about a write.
struct Outcome(CommitOutcome);

impl FromRedisValue for Outcome {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (word, number): (String, u64) = FromRedisValue::from_redis_value(value)?;
        Ok(Self(match word.as_str() {
            "committed" => CommitOutcome::Committed { version: number },
            "conflict" => CommitOutcome::Conflict { version: number },
            "deposed" => CommitOutcome::Deposed {
                leader: LeaderToken(number),
            },
            "missing" => CommitOutcome::Missing,
            _ => return Err("expected the outcome of a commit".into()),
        }))
    }
}

/// A unit as a script answers it.
struct UnitRow {
    unit: Unit,
    record: Bytes,
    marks: UnitMarks,
}

impl FromRedisValue for UnitRow {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        type Row = (String, Bytes, u64, u64, u64, u64, u64, u64);
        let (unit, record, synth, prove, synth_started, prove_started, shipped, result): Row =
            FromRedisValue::from_redis_value(value)?;
        let unit = match unit.as_str() {
            "plan" => Unit::Plan,
            "finish" => Unit::Finish,
            index => Unit::Partition(
                index
                    .parse()
                    .map_err(|_| ParsingError::from("expected the name of a unit"))?,
            ),
        };
        let marks = UnitMarks {
            synth_token: FencingToken(synth),
            prove_token: FencingToken(prove),
            synth_started: FencingToken(synth_started),
            prove_started: FencingToken(prove_started),
            shipped: FencingToken(shipped),
            has_result: result == 1,
        };
        Ok(Self {
            unit,
            record,
            marks,
        })
    }
}
