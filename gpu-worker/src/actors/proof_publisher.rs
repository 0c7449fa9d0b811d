//! Verifies a proof, stores it, reports it: the only way a proof leaves a GPU worker.

use std::sync::Arc;

use actix::{Actor, Context, Handler, Message};
use bytes::Bytes;
use proofmill_shared::broker::ResultWrite;
use proofmill_shared::groth16::{Proof, Scalar, VerifiedProof, public_inputs_to_words};
use proofmill_shared::protocol::{Digest, FailureKind, PartitionProof, TaskFailure, WorkerEvent};
use proofmill_shared::telemetry::TimelineEvent;
use proofmill_shared::telemetry::spans::names;

use super::Attempt;
use crate::backend::Backend;
use crate::proving_key::ResidentCircuit;

/// Proofs that wait for verification: the device makes one at a time, and verifying takes milliseconds.
const MAILBOX_CAPACITY: usize = 16;

/// A proof as the device made it, with what it must verify against.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct PublishProof<B: Backend> {
    pub(crate) attempt: Attempt,
    pub(crate) circuit: Arc<ResidentCircuit<B>>,
    pub(crate) proof: Proof,
    /// Without the leading one.
    pub(crate) public_inputs: Vec<Scalar>,
}

/// Owns nothing but the device's name; receives [`PublishProof`] from the device owner; writes the result, then the
/// event; ends with the worker. Verification runs off the actor's thread, so that the next proof never waits for it.
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

impl<B: Backend> Handler<PublishProof<B>> for ProofPublisher {
    type Result = ();

    fn handle(&mut self, message: PublishProof<B>, _context: &mut Self::Context) {
        drop(actix::spawn(publish(message, self.device.clone())));
    }
}

async fn publish<B: Backend>(message: PublishProof<B>, device: String) {
    let PublishProof {
        mut attempt,
        circuit,
        proof,
        public_inputs,
    } = message;
    let started = attempt.journal.now();
    let verifying = Arc::clone(&circuit);
    let verdict = tokio::task::spawn_blocking(move || {
        proof.verify(verifying.verifying_key(), &public_inputs)
    })
    .await;
    let ended = attempt.journal.now();
    let verified = match verdict {
        Ok(Ok(verified)) => verified,
        Ok(Err(error)) => {
            // The payload was checked row by row before it was shipped, so a wrong proof is the device's doing.
            let reason = format!("device {device} made a proof that is not accepted: {error}");
            attempt
                .fail(TaskFailure::new(
                    FailureKind::Attempt,
                    "proof-does-not-verify",
                    reason,
                ))
                .await;
            return;
        }
        Err(error) => {
            let reason = format!("verification did not end: {error}");
            attempt
                .fail(TaskFailure::new(
                    FailureKind::Attempt,
                    "verification-failed",
                    reason,
                ))
                .await;
            return;
        }
    };
    attempt
        .journal
        .record(attempt.journal.span(names::PROOF_VERIFY, started, ended));
    attempt
        .journal
        .note(TimelineEvent::ProofVerified, ended, &[]);
    store(attempt, &verified, circuit.verifying_key_digest(), device).await;
}

async fn store(
    mut attempt: Attempt,
    verified: &VerifiedProof,
    verifying_key: Digest,
    device: String,
) {
    let record = PartitionProof {
        proof: verified.proof().to_bytes().to_vec(),
        public_inputs: public_inputs_to_words(verified.public_inputs()),
        verifying_key,
        device,
    };
    let body = match serde_json::to_vec(&record) {
        Ok(body) => Bytes::from(body),
        Err(error) => {
            let reason = format!("proof cannot be written: {error}");
            attempt
                .fail(TaskFailure::new(
                    FailureKind::Attempt,
                    "proof-not-written",
                    reason,
                ))
                .await;
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
            attempt.abandon(&format!("token is stale, {current} stands"))
        }
        Err(error) => {
            let reason = format!("proof could not be stored: {error}");
            attempt
                .fail(TaskFailure::new(
                    FailureKind::Infrastructure,
                    "broker-failed",
                    reason,
                ))
                .await;
        }
    }
}
