//! Inputs of jobs, in pieces, and the idempotency keys of their requests.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use redis::{cmd, pipe};

use super::RedisBroker;
use super::check::entry_bytes_max;
use super::leadership::millis;
use super::sealing::WRAPPED_KEY;
use crate::broker::seal::{SealError, is_sealed};
use crate::broker::{BrokerError, IdempotencyOutcome};
use crate::protocol::JobId;

/// Field that says how many pieces an input has: written last, so that an input without it is not there.
const PIECES: &str = "pieces";

impl RedisBroker {
    pub(super) async fn write_input(
        &self,
        job: JobId,
        input: &[u8],
        ttl: Duration,
    ) -> Result<(), BrokerError> {
        let key = self.keys.input(job);
        let written = match &self.sealing {
            None => self.write_pieces(&key, input, None, millis(ttl)).await,
            Some(sealing) => {
                let (job_key, wrapped) = sealing.new_job_key(job)?;
                let sealed = job_key.seal_input(job, input)?;
                self.write_pieces(&key, &sealed, Some(&wrapped), millis(ttl))
                    .await
            }
        };
        if let Err(BrokerError::OutOfMemory) = &written {
            // What did fit is of no use to anybody and stands in the way of others.
            let mut unlink = cmd("UNLINK");
            unlink.arg(&key);
            self.bulk.ask::<()>(&unlink).await?;
        }
        written
    }

    async fn write_pieces(
        &self,
        key: &str,
        input: &[u8],
        wrapped_key: Option<&[u8]>,
        ttl: u64,
    ) -> Result<(), BrokerError> {
        let mut unlink = cmd("UNLINK");
        unlink.arg(key);
        self.bulk.ask::<()>(&unlink).await?;
        let mut count = 0usize;
        for piece in input.chunks(entry_bytes_max(&self.bulk)) {
            let mut write = pipe();
            write.atomic();
            write.cmd("HSET").arg(key).arg(count).arg(piece).ignore();
            write.cmd("PEXPIRE").arg(key).arg(ttl).ignore();
            self.bulk.ask::<()>(&write).await?;
            count += 1;
        }
        let mut finish = pipe();
        finish.atomic();
        finish.cmd("HSET").arg(key).arg(PIECES).arg(count);
        if let Some(wrapped) = wrapped_key {
            finish.arg(WRAPPED_KEY).arg(wrapped);
        }
        finish.ignore();
        finish.cmd("PEXPIRE").arg(key).arg(ttl).ignore();
        Ok(self.bulk.ask(&finish).await?)
    }

    pub(super) async fn read_input(&self, job: JobId) -> Result<Option<Bytes>, BrokerError> {
        let Some(input) = self.read_pieces(job).await? else {
            return Ok(None);
        };
        match &self.sealing {
            Some(sealing) => Ok(Some(sealing.job_key(job).await?.open_input(job, input)?)),
            None if is_sealed(&input) => Err(SealError::NoKey.into()),
            None => Ok(Some(input)),
        }
    }

    async fn read_pieces(&self, job: JobId) -> Result<Option<Bytes>, BrokerError> {
        let key = self.keys.input(job);
        let field = |name: String| {
            let mut get = cmd("HGET");
            get.arg(&key).arg(name);
            get
        };
        let count: Option<usize> = self.bulk.ask(&field(PIECES.to_owned())).await?;
        let Some(count) = count else {
            return Ok(None);
        };
        let mut input = BytesMut::new();
        for index in 0..count {
            let piece: Option<Bytes> = self.bulk.ask(&field(index.to_string())).await?;
            match piece {
                // One piece is the usual input: it is not copied.
                Some(piece) if count == 1 => return Ok(Some(piece)),
                Some(piece) => input.extend_from_slice(&piece),
                // It expired or was dropped while it was read.
                None => return Ok(None),
            }
        }
        Ok(Some(input.freeze()))
    }

    pub(super) async fn bind_idempotency(
        &self,
        key: &str,
        job: JobId,
        request: &str,
        ttl: Duration,
    ) -> Result<IdempotencyOutcome, BrokerError> {
        let key = self.keys.idempotency(key);
        let wanted = format!("{job} {request}");
        let mut bind = pipe();
        bind.atomic();
        bind.cmd("SET").arg(&key).arg(&wanted);
        bind.arg("NX").arg("PX").arg(millis(ttl)).ignore();
        bind.cmd("GET").arg(&key);
        let (found,): (String,) = self.control.ask(&bind).await?;
        if found == wanted {
            return Ok(IdempotencyOutcome::Reserved);
        }
        let unreadable = || BrokerError::Unexpected {
            detail: "an idempotency key is bound to something unreadable".to_owned(),
        };
        let (job, request) = found.split_once(' ').ok_or_else(unreadable)?;
        Ok(IdempotencyOutcome::Taken {
            job: job.parse().map_err(|_| unreadable())?,
            request: request.to_owned(),
        })
    }
}
