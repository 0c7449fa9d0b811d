//! Jobs to and from the broker.

use std::collections::{BTreeMap, BTreeSet};

use proofmill_shared::broker::{
    BrokerError, CommitOutcome, JobCommit, JobIndex, StoredJob, UnitMarks, UnitWrite,
};
use proofmill_shared::protocol::{JobId, PartitionProof, Plan, Stage, Unit};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::expectation;
use super::super::insist::insist;
use super::super::site::Site;
use crate::job::{Job, JobRecord, RecordError, StoredResult, UnitRecord};
use crate::view::JobState;

/// What became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Committed {
    /// Durable, at this version.
    Done(u64),
    /// Somebody else wrote: read the job anew.
    Stale,
    /// A younger coordinator leads.
    Deposed,
    /// The job is not there any more.
    Missing,
}

/// Writes a job and its changed units.
pub(super) async fn commit(
    site: &Site,
    job: &Job,
    version: u64,
    changed: &BTreeSet<Unit>,
) -> Result<Committed, BrokerError> {
    let write = JobCommit {
        job: job.record().id,
        expected_version: version,
        leader: site.leader(),
        record: job
            .record()
            .encode()
            .expect("a record holds only what JSON can hold"),
        units: changed
            .iter()
            .filter_map(|unit| unit_write(job, *unit))
            .collect(),
        index: index(site, job.state()),
    };
    let insisted = insist(site, "commit", async || {
        site.broker().commit(write.clone()).await
    })
    .await?;
    Ok(match insisted.answer {
        CommitOutcome::Committed { version } => Committed::Done(version),
        // Nobody else leads, so a version that is one further after an unclear failure is this very commit.
        CommitOutcome::Conflict { version: found }
            if insisted.may_be_repeated && found == version + 1 =>
        {
            Committed::Done(found)
        }
        CommitOutcome::Conflict { .. } => Committed::Stale,
        CommitOutcome::Deposed { .. } => Committed::Deposed,
        CommitOutcome::Missing => Committed::Missing,
    })
}

fn unit_write(job: &Job, unit: Unit) -> Option<UnitWrite> {
    let record = job.unit(unit)?;
    Some(UnitWrite {
        unit,
        record: record
            .encode()
            .expect("a record holds only what JSON can hold"),
        synth_token: record.accepted_token(Stage::Synthesis),
        prove_token: record.accepted_token(Stage::Proving),
    })
}

fn index(site: &Site, state: JobState) -> JobIndex {
    if state.is_terminal() {
        JobIndex::Ended {
            retain: site.options.retention,
            // The input of a dead letter is kept for whoever retries it.
            drop_input: state != JobState::Failed,
        }
    } else {
        JobIndex::Active
    }
}

/// A job as it was read.
#[derive(Debug)]
pub(crate) struct LoadedJob {
    /// The job.
    pub(crate) job: Job,
    /// Its version.
    pub(crate) version: u64,
}

/// Puts a stored job together.
pub(crate) fn read_job(stored: StoredJob) -> Result<LoadedJob, RecordError> {
    let record = JobRecord::decode(&stored.record)?;
    let mut units = BTreeMap::new();
    for (unit, (bytes, _)) in stored.units {
        if !bytes.is_empty() {
            units.insert(unit, UnitRecord::decode(&bytes)?);
        }
    }
    Ok(LoadedJob {
        job: Job::from_records(record, units),
        version: stored.version,
    })
}

/// Reads a job, however long it takes; `None` if it is not there, or does not read (which is logged).
pub(super) async fn load(site: &Site, job: JobId) -> Result<Option<LoadedJob>, BrokerError> {
    let stored = insist(site, "load job", async || site.broker().load_job(job).await).await?;
    Ok(stored.answer.and_then(|stored| match read_job(stored) {
        Ok(loaded) => Some(loaded),
        Err(error) => {
            tracing::error!(%job, %error, "job is lost: its record does not read");
            None
        }
    }))
}

pub(super) async fn marks(site: &Site, job: JobId, unit: Unit) -> Result<UnitMarks, BrokerError> {
    let marks = insist(site, "load marks", async || {
        site.broker().load_marks(job, unit).await
    });
    Ok(marks.await?.answer)
}

/// Reads the result of a unit and judges it; `None` if there is none.
pub(super) async fn result(
    site: &Site,
    job: &Job,
    unit: Unit,
) -> Result<Option<StoredResult>, BrokerError> {
    let id = job.record().id;
    let Some(bytes) = raw_result(site, id, unit).await? else {
        return Ok(None);
    };
    let read = match unit {
        Unit::Plan => parse::<Plan>(&bytes).map(StoredResult::Plan),
        Unit::Partition(_) => parse::<PartitionProof>(&bytes).map(|_| StoredResult::Proof),
        Unit::Finish => match parse::<Value>(&bytes) {
            Ok(output) => judge(site, job, &output).await?,
            Err(reason) => Err(reason),
        },
    };
    Ok(Some(read.unwrap_or_else(|reason| {
        StoredResult::Unreadable { reason }
    })))
}

/// Holds an output, and the proofs under it, against what the client stated.
async fn judge(
    site: &Site,
    job: &Job,
    output: &Value,
) -> Result<Result<StoredResult, String>, BrokerError> {
    let Some(expected) = &job.record().expect else {
        return Ok(Ok(StoredResult::Output { mismatch: None }));
    };
    let mut proofs = Vec::new();
    if expected.public_inputs.is_some() {
        let count = job
            .record()
            .plan
            .as_ref()
            .map_or(0, |plan| plan.partition_count);
        for partition in 0..count {
            let unit = Unit::Partition(partition);
            let bytes = raw_result(site, job.record().id, unit).await?;
            match bytes.map(|bytes| parse::<PartitionProof>(&bytes)) {
                Some(Ok(proof)) => proofs.push(proof),
                Some(Err(reason)) => return Ok(Err(reason)),
                None => return Ok(Err(format!("proof of partition {partition} is gone"))),
            }
        }
    }
    let mismatch = expectation::mismatch(expected, &proofs, output);
    Ok(Ok(StoredResult::Output { mismatch }))
}

async fn raw_result(
    site: &Site,
    job: JobId,
    unit: Unit,
) -> Result<Option<bytes::Bytes>, BrokerError> {
    let result = insist(site, "load result", async || {
        site.broker().load_result(job, unit).await
    });
    Ok(result.await?.answer)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    // The position is enough: the text of the error could repeat what was read.
    serde_json::from_slice(bytes)
        .map_err(|error| format!("line {}, column {}", error.line(), error.column()))
}
