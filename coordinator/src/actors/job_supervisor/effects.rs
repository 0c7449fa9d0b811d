//! What a durable transition asks of the broker and of telemetry. Queueing and credits are the supervisor's.

use bytes::Bytes;
use proofmill_shared::protocol::{Control, Envelope, JobId, Task, TaskKey, TraceContext, WorkerId};
use proofmill_shared::telemetry::{TimelineEvent, TimelineRecord};
use serde::Serialize;

use super::super::insist::insist_on_hint;
use super::super::site::Site;
use super::super::spans;
use crate::job::{Action, DeadLetter, JobRecord};

/// Performs actions in order.
pub(super) async fn perform(site: &Site, job: &JobRecord, actions: &[Action]) {
    for action in actions {
        match action {
            Action::Post { worker, task } => post(site, job, worker, task).await,
            Action::TakeBack { worker, key } => {
                let order = Control::TakeBack { key: *key };
                control(site, job, worker, Some(key), order).await;
            }
            Action::CancelOn { worker } => {
                let order = Control::CancelJob { job: job.id };
                control(site, job, worker, None, order).await;
            }
            Action::DropPayload { payload } => {
                insist_on_hint(site, "drop payload", async || {
                    site.broker().drop_payload(payload).await
                })
                .await;
            }
            Action::PutDeadLetter(letter) => dead_letter(site, letter).await,
            Action::Record(record) => {
                record.log(site.epoch());
                if record.event == TimelineEvent::JobDone {
                    spans::job_ended(site, job);
                }
            }
            Action::Waited {
                key,
                worker,
                from,
                assigned_at,
                to,
            } => spans::waited(site, job, key, worker, *from, *assigned_at, *to),
            Action::Enqueue { .. }
            | Action::Dequeue { .. }
            | Action::Release { .. }
            | Action::Refuse { .. }
            | Action::PayloadShipped { .. }
            | Action::ProvingBegan { .. }
            | Action::ProofStored { .. }
            | Action::Announce => {}
        }
    }
}

/// Appends to a job's timeline.
pub(super) async fn append_timeline(site: &Site, job: JobId, records: Vec<TimelineRecord>) {
    if records.is_empty() {
        return;
    }
    let encoded: Vec<Bytes> = records
        .iter()
        .filter_map(|record| serde_json::to_vec(record).ok())
        .map(Bytes::from)
        .collect();
    insist_on_hint(site, "append timeline", async || {
        site.broker().append_timeline(job, encoded.clone()).await
    })
    .await;
}

async fn post(site: &Site, job: &JobRecord, worker: &WorkerId, task: &Task) {
    let trace = spans::assignment_context(job, task.key());
    let mut task = task.clone();
    if let Task::Synthesize(task) = &mut task {
        task.needs_evaluations = site.needs_evaluations();
    }
    let Some(message) = envelope(site, &task, trace) else {
        return;
    };
    insist_on_hint(site, "post task", async || {
        site.broker().post_task(worker, message.clone()).await
    })
    .await;
}

async fn control(
    site: &Site,
    job: &JobRecord,
    worker: &WorkerId,
    key: Option<&TaskKey>,
    order: Control,
) {
    let trace = key.map_or_else(TraceContext::default, |key| {
        spans::assignment_context(job, key)
    });
    let Some(message) = envelope(site, &order, trace) else {
        return;
    };
    insist_on_hint(site, "post control", async || {
        site.broker().post_control(worker, message.clone()).await
    })
    .await;
}

async fn dead_letter(site: &Site, letter: &DeadLetter) {
    tracing::error!(
        job = %letter.job,
        unit = %letter.unit,
        stage = %letter.stage,
        attempts = letter.attempts,
        code = letter.cause.code,
        "job given up, a dead letter is filed"
    );
    let bytes = letter
        .encode()
        .expect("a dead letter holds only what JSON can hold");
    insist_on_hint(site, "put dead letter", async || {
        site.broker()
            .put_dead_letter(letter.job, bytes.clone())
            .await
    })
    .await;
}

fn envelope<T: Serialize + Clone>(site: &Site, body: &T, trace: TraceContext) -> Option<Bytes> {
    match Envelope::new(body.clone(), trace, site.now()).encode() {
        Ok(message) => Some(message),
        Err(error) => {
            tracing::error!(%error, "message cannot be written");
            None
        }
    }
}
