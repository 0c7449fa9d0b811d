//! Timelines of jobs, and dead letters.

use bytes::Bytes;
use redis::{cmd, pipe};

use super::RedisBroker;
use crate::broker::BrokerError;
use crate::broker::limits::DEAD_LETTERS_MAX;
use crate::protocol::JobId;

impl RedisBroker {
    /// Appends records, once even if the answer was lost: only the coordinator writes here, so that a repeated call
    /// finds its records at the end.
    pub(super) async fn write_timeline(
        &self,
        job: JobId,
        records: &[Bytes],
    ) -> Result<(), BrokerError> {
        if records.is_empty() {
            return Ok(());
        }
        let mut patience = self.control.patience();
        let mut is_repetition = false;
        loop {
            let mut call = self.scripts.append_timeline.prepare_invoke();
            call.key(self.keys.job(job)).key(self.keys.timeline(job));
            call.arg(u8::from(is_repetition));
            for record in records {
                call.arg(record.as_ref());
            }
            match self.control.ask_once::<()>(&call).await {
                Ok(()) => return Ok(()),
                Err(refusal) => patience.or_give_up(refusal).await?,
            }
            is_repetition = true;
        }
    }

    pub(super) async fn read_timeline(&self, job: JobId) -> Result<Vec<Bytes>, BrokerError> {
        let mut range = cmd("LRANGE");
        range.arg(self.keys.timeline(job)).arg(0).arg(-1);
        Ok(self.control.ask(&range).await?)
    }

    pub(super) async fn write_dead_letter(
        &self,
        job: JobId,
        letter: &[u8],
    ) -> Result<(), BrokerError> {
        self.control.fits(letter)?;
        let mut call = self.scripts.put_dead_letter.prepare_invoke();
        call.key(self.keys.dead_letters());
        call.key(self.keys.dead_letter_bodies());
        call.arg(job.to_string()).arg(letter).arg(DEAD_LETTERS_MAX);
        Ok(self.control.ask(&call).await?)
    }

    pub(super) async fn list_dead_letters(
        &self,
        limit: usize,
    ) -> Result<Vec<(JobId, Bytes)>, BrokerError> {
        let limit = limit.min(DEAD_LETTERS_MAX);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let mut newest = cmd("ZREVRANGE");
        newest.arg(self.keys.dead_letters()).arg(0).arg(limit - 1);
        let ids: Vec<String> = self.control.ask(&newest).await?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut get = cmd("HMGET");
        get.arg(self.keys.dead_letter_bodies()).arg(&ids);
        let letters: Vec<Option<Bytes>> = self.control.ask(&get).await?;
        let filed = ids.into_iter().zip(letters);
        Ok(filed
            .filter_map(|(id, letter)| Some((id.parse().ok()?, letter?)))
            .collect())
    }

    pub(super) async fn remove_dead_letter(&self, job: JobId) -> Result<bool, BrokerError> {
        let id = job.to_string();
        let mut remove = pipe();
        remove.atomic();
        remove.cmd("ZREM").arg(self.keys.dead_letters()).arg(&id);
        remove.cmd("HDEL").arg(self.keys.dead_letter_bodies());
        remove.arg(&id).ignore();
        let (was_there,): (bool,) = self.control.ask(&remove).await?;
        Ok(was_there)
    }
}
