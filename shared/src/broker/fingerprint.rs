//! Recognising a write that is repeated because its answer was lost.

use bytes::Bytes;

use super::{JobCommit, JobIndex, LeaderToken};
use crate::protocol::{Digest, JobId};

/// What a write says, in 32 bytes: the same write made twice has the same one, so that its repetition is answered as
/// the first was.
pub(super) fn of_commit(commit: &JobCommit) -> Digest {
    let mut digest = Fingerprint::of(commit.job, commit.leader);
    digest.number(commit.expected_version);
    digest.bytes(&commit.record);
    for unit in &commit.units {
        digest.bytes(unit.unit.to_string().as_bytes());
        digest.bytes(&unit.record);
        digest.number(unit.synth_token.0);
        digest.number(unit.prove_token.0);
    }
    match commit.index {
        JobIndex::Active => digest.number(0),
        JobIndex::Ended { drop_input, .. } => digest.number(1 + u64::from(drop_input)),
    }
    digest.finish()
}

/// See [`of_commit`]; for the first write of a job.
pub(super) fn of_creation(job: JobId, leader: LeaderToken, record: &Bytes) -> Digest {
    let mut digest = Fingerprint::of(job, leader);
    digest.bytes(record);
    digest.finish()
}

struct Fingerprint(blake3::Hasher);

impl Fingerprint {
    fn of(job: JobId, leader: LeaderToken) -> Self {
        let mut fingerprint = Self(blake3::Hasher::new());
        fingerprint.0.update(&job.trace_id().to_be_bytes());
        fingerprint.number(leader.0);
        fingerprint
    }

    fn number(&mut self, number: u64) {
        self.0.update(&number.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn finish(self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}
