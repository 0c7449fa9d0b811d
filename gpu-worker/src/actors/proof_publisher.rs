//! Stores a verified proof and reports it: the only way a proof leaves a GPU worker.

use actix::{Actor, Context, Handler, Message};
use bytes::Bytes;
use proofmill_shared::broker::ResultWrite;
use proofmill_shared::groth16::public_inputs_to_words;
use proofmill_shared::protocol::{FailureKind, PartitionProof, TaskFailure, WorkerEvent};

use super::Attempt;
use crate::device::DeviceProof;

/// Proofs that wait to be stored: the device makes one at a time, and storing takes a round trip.
const MAILBOX_CAPACITY: usize = 16;

/// A proof that verified.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct PublishProof {
    pub(crate) attempt: Attempt,
    pub(crate) proof: DeviceProof,
}

/// Owns nothing but the device's name; receives [`PublishProof`] from the device owner; writes the result, then the
/// event; ends with the worker. The device proves on meanwhile.
#[derive(Debug)]
pub(crate) struct ProofPublisher {
    pub(crate) device: String,
}

impl Actor for ProofPublisher {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.set_mailbox_capacity(MAILBOX_CAPACITY);
    }
}

impl Handler<PublishProof> for ProofPublisher {
    type Result = ();

    fn handle(&mut self, message: PublishProof, _context: &mut Self::Context) {
        // Not tied to this actor: drain waits for the ticket.
        drop(actix::spawn(publish(message, self.device.clone())));
    }
}

async fn publish(message: PublishProof, device: String) {
    let PublishProof { mut attempt, proof } = message;
    let DeviceProof {
        proof,
        verifying_key,
    } = proof;
    let record = PartitionProof {
        proof: proof.proof().to_bytes().to_vec(),
        public_inputs: public_inputs_to_words(proof.public_inputs()),
        verifying_key,
        device,
    };
    let body = match serde_json::to_vec(&record) {
        Ok(body) => Bytes::from(body),
        Err(error) => {
            let reason = format!("proof cannot be written: {error}");
            let failure = TaskFailure::new(FailureKind::Attempt, "proof-not-written", reason);
            attempt.fail(failure).await;
            return;
        }
    };
    let broker = attempt.journal.context().emitter.broker().clone();
    match broker.store_result(&attempt.task.key, body).await {
        Ok(ResultWrite::Stored | ResultWrite::AlreadyStored) => {
            attempt.journal.emit(WorkerEvent::Stored).await;
            attempt.ticket.settle();
        }
        Ok(ResultWrite::Stale { current }) => {
            attempt.abandon(&format!("token is stale, {current} stands"));
        }
        Err(error) => {
            let reason = format!("proof could not be stored: {error}");
            let failure = TaskFailure::new(FailureKind::Infrastructure, "broker-failed", reason);
            attempt.fail(failure).await;
        }
    }
}
