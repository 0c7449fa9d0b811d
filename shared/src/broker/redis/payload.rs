//! Writing assignment streams.

use std::sync::atomic::Ordering;
use std::time::Duration;

use redis::{cmd, pipe};

use super::RedisBroker;
use super::check::entry_bytes_max;
use super::leadership::millis;
use super::refusal::Refusal;
use crate::broker::seal::SEAL_OVERHEAD_BYTES;
use crate::broker::{BrokerError, PayloadEntry, PayloadKey};

/// Ids tried for one entry before the server is asked to choose one: a second is needed only where two appends to one
/// stream overtook each other.
const IDS_PER_ENTRY: usize = 3;

/// Field of a chunk's index.
pub(super) const INDEX: &str = "i";
/// Field of a chunk's bytes.
pub(super) const CHUNK: &str = "c";
/// Field of a manifest.
pub(super) const MANIFEST: &str = "m";

impl RedisBroker {
    /// Largest entry, before it is sealed.
    pub(super) fn entry_bytes_max(&self) -> usize {
        let overhead = self.sealing.as_ref().map_or(0, |_| SEAL_OVERHEAD_BYTES);
        entry_bytes_max(&self.payload).saturating_sub(overhead)
    }

    /// Appends an entry, once even if its answer was lost: this process numbers its entries, and the server refuses a
    /// number that is not above those it has.
    pub(super) async fn write_payload(
        &self,
        key: &PayloadKey,
        entry: &PayloadEntry,
        ttl: Duration,
    ) -> Result<(), BrokerError> {
        let (PayloadEntry::Chunk { bytes, .. } | PayloadEntry::Manifest(bytes)) = entry;
        let limit = self.entry_bytes_max();
        if bytes.len() > limit {
            return Err(BrokerError::EntryTooLarge {
                bytes: bytes.len(),
                limit,
            });
        }
        let stream = self.keys.assignment(key);
        let sealed;
        let entry = match &self.sealing {
            None => entry,
            Some(sealing) => {
                sealed = sealing.seal(key, entry).await?;
                &sealed
            }
        };
        for _ in 0..IDS_PER_ENTRY {
            let id = format!("0-{}", self.next_entry.fetch_add(1, Ordering::Relaxed));
            match self.append_as(&stream, &id, entry, ttl).await {
                Ok(()) => return Ok(()),
                Err(Refusal::IdTooSmall) => {}
                Err(refusal) => return Err(refusal.into()),
            }
            if self.holds(&stream, &id).await? {
                return Ok(());
            }
        }
        Ok(self.append_as(&stream, "*", entry, ttl).await?)
    }

    async fn append_as(
        &self,
        stream: &str,
        id: &str,
        entry: &PayloadEntry,
        ttl: Duration,
    ) -> Result<(), Refusal> {
        // One step, so that no stream is left without its expiry.
        let mut append = pipe();
        append.atomic();
        append.cmd("XADD").arg(stream).arg(id);
        match entry {
            PayloadEntry::Chunk { index, bytes } => {
                append.arg(INDEX).arg(*index).arg(CHUNK).arg(bytes.as_ref())
            }
            PayloadEntry::Manifest(bytes) => append.arg(MANIFEST).arg(bytes.as_ref()),
        };
        append.ignore();
        append.cmd("PEXPIRE").arg(stream).arg(millis(ttl)).ignore();
        self.payload.ask(&append).await
    }

    async fn holds(&self, stream: &str, id: &str) -> Result<bool, BrokerError> {
        let mut range = cmd("XRANGE");
        range.arg(stream).arg(id).arg(id);
        let found: Vec<redis::Value> = self.payload.ask(&range).await?;
        Ok(!found.is_empty())
    }

    pub(super) async fn remove_payload(&self, key: &PayloadKey) -> Result<(), BrokerError> {
        let mut unlink = cmd("UNLINK");
        unlink.arg(self.keys.assignment(key));
        Ok(self.payload.ask(&unlink).await?)
    }
}
