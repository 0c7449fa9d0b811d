//! The token-checked writes of workers, and what they wrote.

use bytes::Bytes;
use redis::cmd;

use super::RedisBroker;
use crate::broker::{BrokerError, ResultWrite, TokenCheck, UnitMarks};
use crate::protocol::{Digest, FencingToken, JobId, Stage, TaskKey, Unit};

/// Fields of a unit's hash that belong to a stage: its current token, and the mark of the attempt that started.
const fn fields(stage: Stage) -> (&'static str, &'static str) {
    match stage {
        Stage::Synthesis => ("synth_token", "synth_started"),
        Stage::Proving => ("prove_token", "prove_started"),
    }
}

impl RedisBroker {
    pub(super) async fn write_start(&self, key: &TaskKey) -> Result<TokenCheck, BrokerError> {
        let (token, started) = fields(key.stage);
        let mut call = self.scripts.mark.prepare_invoke();
        call.key(self.keys.unit(key.job, key.unit));
        call.arg(key.token.0).arg(token).arg(started);
        let answer: (String, u64) = self.control.ask(&call).await?;
        token_check(&answer)
    }

    pub(super) async fn write_shipped(
        &self,
        key: &TaskKey,
        manifest: Digest,
    ) -> Result<TokenCheck, BrokerError> {
        let (token, _) = fields(key.stage);
        let mut call = self.scripts.mark.prepare_invoke();
        call.key(self.keys.unit(key.job, key.unit));
        call.arg(key.token.0).arg(token).arg("shipped");
        call.arg("manifest").arg(manifest.to_string());
        let answer: (String, u64) = self.control.ask(&call).await?;
        token_check(&answer)
    }

    pub(super) async fn write_result(
        &self,
        key: &TaskKey,
        result: &[u8],
    ) -> Result<ResultWrite, BrokerError> {
        self.bulk.fits(result)?;
        let (token, _) = fields(key.stage);
        let mut call = self.scripts.store_result.prepare_invoke();
        call.key(self.keys.unit(key.job, key.unit));
        call.key(self.keys.proof(key.job, key.unit));
        call.arg(key.token.0).arg(token).arg(result);
        let (word, current): (String, u64) = self.bulk.ask(&call).await?;
        match word.as_str() {
            "stored" => Ok(ResultWrite::Stored),
            "already" => Ok(ResultWrite::AlreadyStored),
            "stale" => Ok(ResultWrite::Stale {
                current: FencingToken(current),
            }),
            _ => Err(unexpected()),
        }
    }

    pub(super) async fn read_result(
        &self,
        job: JobId,
        unit: Unit,
    ) -> Result<Option<Bytes>, BrokerError> {
        let mut get = cmd("GET");
        get.arg(self.keys.proof(job, unit));
        Ok(self.bulk.ask(&get).await?)
    }

    pub(super) async fn read_marks(
        &self,
        job: JobId,
        unit: Unit,
    ) -> Result<UnitMarks, BrokerError> {
        let mut get = cmd("HMGET");
        get.arg(self.keys.unit(job, unit))
            .arg("synth_token")
            .arg("prove_token")
            .arg("synth_started")
            .arg("prove_started")
            .arg("shipped")
            .arg("has_result");
        let fields: Vec<Option<u64>> = self.control.ask(&get).await?;
        let [synth, prove, synth_started, prove_started, shipped, result] = fields[..] else {
            return Err(unexpected());
        };
        let token = |field: Option<u64>| FencingToken(field.unwrap_or_default());
        Ok(UnitMarks {
            synth_token: token(synth),
            prove_token: token(prove),
            synth_started: token(synth_started),
            prove_started: token(prove_started),
            shipped: token(shipped),
            has_result: result == Some(1),
        })
    }
}

fn token_check((word, current): &(String, u64)) -> Result<TokenCheck, BrokerError> {
    match word.as_str() {
        "accepted" => Ok(TokenCheck::Accepted),
        "stale" => Ok(TokenCheck::Stale {
            current: FencingToken(*current),
        }),
        _ => Err(unexpected()),
    }
}

fn unexpected() -> BrokerError {
    BrokerError::Unexpected {
        detail: "marks of a unit have another form".to_owned(),
    }
}
