//! Who is in the cluster: workers by their heartbeats, and circuit programs.

use std::collections::BTreeMap;

use bytes::Bytes;
use redis::{cmd, pipe};

use super::RedisBroker;
use crate::broker::BrokerError;
use crate::protocol::CircuitId;

impl RedisBroker {
    pub(super) async fn list_workers(&self) -> Result<Vec<Bytes>, BrokerError> {
        let index = self.keys.workers();
        let mut members = cmd("SMEMBERS");
        members.arg(&index);
        let mut ids: Vec<String> = self.control.ask(&members).await?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        ids.sort_unstable();
        let mut get = pipe();
        for id in &ids {
            get.cmd("GET").arg(self.keys.worker(id));
        }
        let records: Vec<Option<Bytes>> = self.control.ask(&get).await?;
        let (mut alive, mut dead) = (Vec::new(), Vec::new());
        for (id, record) in ids.into_iter().zip(records) {
            match record {
                Some(record) => alive.push(record),
                None => dead.push(id),
            }
        }
        if !dead.is_empty() {
            // One that comes back lists itself again with its next beat.
            let mut remove = cmd("SREM");
            remove.arg(&index).arg(&dead);
            self.control.ask::<()>(&remove).await?;
        }
        Ok(alive)
    }

    pub(super) async fn write_circuit(
        &self,
        circuit: &CircuitId,
        record: &[u8],
    ) -> Result<(), BrokerError> {
        self.control.fits(record)?;
        let mut call = self.scripts.register.prepare_invoke();
        call.key(self.keys.circuits());
        call.arg(circuit.to_string()).arg(record);
        Ok(self.control.ask(&call).await?)
    }

    pub(super) async fn list_circuits(&self) -> Result<Vec<Bytes>, BrokerError> {
        let mut all = cmd("HGETALL");
        all.arg(self.keys.circuits());
        let found: Vec<(String, Bytes)> = self.control.ask(&all).await?;
        let readable = found
            .into_iter()
            .filter_map(|(id, record)| Some((id.parse::<CircuitId>().ok()?, record)));
        let sorted: BTreeMap<CircuitId, Bytes> = readable.collect();
        Ok(sorted.into_values().collect())
    }
}
