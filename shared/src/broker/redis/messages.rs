//! Posting to inboxes, control streams and events.

use redis::cmd;

use super::RedisBroker;
use crate::broker::BrokerError;
use crate::protocol::WorkerId;

/// Entries that a repeated post looks through for itself: more than are posted to one stream within a time-out.
const LOOK_BACK: usize = 256;

impl RedisBroker {
    /// Appends a message, once even if its answer was lost.
    pub(super) async fn post(&self, stream: &str, message: &[u8]) -> Result<(), BrokerError> {
        self.control.fits(message)?;
        let mark = format!("{:016x}", rand::random::<u64>());
        let mut patience = self.control.patience();
        let mut is_repetition = false;
        loop {
            let mut call = self.scripts.post.prepare_invoke();
            call.key(stream);
            call.arg(&mark).arg(message);
            call.arg(u8::from(is_repetition)).arg(LOOK_BACK);
            match self.control.ask_once::<()>(&call).await {
                Ok(()) => return Ok(()),
                Err(refusal) => patience.or_give_up(refusal).await?,
            }
            is_repetition = true;
        }
    }

    pub(super) async fn remove_inbox(&self, worker: &WorkerId) -> Result<(), BrokerError> {
        for key in [self.keys.inbox(worker), self.keys.control(worker)] {
            let mut unlink = cmd("UNLINK");
            unlink.arg(key);
            self.control.ask::<()>(&unlink).await?;
        }
        Ok(())
    }
}
