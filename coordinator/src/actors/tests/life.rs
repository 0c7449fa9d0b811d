//! Lives of jobs that nothing goes wrong with, and refusals.

use std::time::Duration;

use actix::System;
use proofmill_shared::protocol::Role;
use proofmill_shared::telemetry::{SpanSink, TimelineEvent};
use serde_json::json;

use super::fakes::public_input;
use super::*;
use crate::actors::CoordinatorEnd;
use crate::actors::job_supervisor::testing::PanicNow;
use crate::handle::CoordinatorError;
use crate::view::Expectation;

#[actix::test]
async fn a_job_runs_to_success_and_leaves_proofs_timeline_and_nothing_else() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let _gpu = cluster.gpu("gpu-1", Manner::Diligent).await;
    let mut changes = handle.subscribe();
    let view = run(&handle, request("3")).await;
    assert_succeeded(&view);
    assert_eq!(view.partitions.len(), 3);
    let proof = handle.proof(view.id).await.unwrap();
    assert_eq!(proof.partitions[2].public_inputs, [public_input(2)]);
    assert_eq!(proof.output, json!(3));
    let timeline = handle.timeline(view.id).await.unwrap();
    let count = |event| {
        timeline
            .iter()
            .filter(|record| record.event == event)
            .count()
    };
    assert_eq!(timeline[0].event, TimelineEvent::JobSubmit);
    assert_eq!(timeline.last().unwrap().event, TimelineEvent::JobDone);
    assert_eq!(count(TimelineEvent::SynthAssign), 5);
    assert_eq!(count(TimelineEvent::GpuAssign), 3);
    assert_eq!(count(TimelineEvent::ChanSent), 3);
    assert_eq!(count(TimelineEvent::ProofVerified), 3);
    assert_eq!(count(TimelineEvent::SynthEnd), 2, "of plan and finish");
    assert!(changes.try_recv().is_ok());
    assert_books_are_clear(&handle).await;
    assert!(cluster.broker.get_input(view.id).await.unwrap().is_none());
    assert_eq!(handle.jobs(None, 10).await.unwrap(), [view]);
    handle.stop().await;
    assert_eq!(handle.ended().await, CoordinatorEnd::Stopped);
}

#[actix::test]
async fn spans_of_a_job_are_one_trace_under_the_root_that_its_record_keeps() {
    let cluster = Cluster::new().await;
    let (spans, mut recorded) = SpanSink::channel(256);
    let mut options = cluster.options();
    options.spans = spans;
    let handle = cluster.coordinator_with(options).await;
    let _synth = cluster.synth("synth-1").await;
    let _gpu = cluster.gpu("gpu-1", Manner::Diligent).await;
    let mut request = request("1");
    let client = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    request.traceparent = Some(client.to_owned());
    let view = run(&handle, request).await;
    assert_succeeded(&view);
    handle.stop().await;
    let mut found = Vec::new();
    while let Ok(span) = recorded.try_recv() {
        found.push(span);
    }
    let root = found.iter().find(|span| span.parent.is_none()).unwrap();
    assert_eq!(root.name, "job.submit");
    assert_eq!(root.links[0].traceparent(), client);
    let named = |name: &str| found.iter().filter(|span| span.name == name).count();
    assert_eq!(named("synth.wait"), 3);
    assert_eq!(named("handoff.wait"), 1);
    assert_eq!((named("job.finish"), named("job")), (1, 1));
    for span in &found {
        assert_eq!(span.job, view.id);
        assert!(span.span_id == root.span_id || span.parent == Some(root.span_id));
    }
}

#[actix::test]
async fn a_thousand_jobs_on_five_workers_all_end_and_every_credit_comes_back() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let mut workers = Vec::new();
    for name in ["synth-1", "synth-2", "synth-3"] {
        workers.push(cluster.synth(name).await);
    }
    for name in ["gpu-1", "gpu-2"] {
        workers.push(cluster.gpu(name, Manner::Diligent).await);
    }
    let mut jobs = Vec::new();
    for index in 0..1_000u32 {
        let input = (index % 2 + 1).to_string();
        jobs.push(handle.submit(request(&input)).await.unwrap().view.id);
    }
    for job in jobs {
        assert_succeeded(&handle.wait(job, LIMIT).await.unwrap());
    }
    assert_books_are_clear(&handle).await;
}

#[actix::test]
async fn the_same_key_names_the_same_job_and_another_request_conflicts() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let keyed = |input| {
        let mut request = request(input);
        request.idempotency_key = Some("key".into());
        request
    };
    let first = handle.submit(keyed("1")).await.unwrap();
    let again = handle.submit(keyed("1")).await.unwrap();
    assert!(first.is_new && !again.is_new);
    assert_eq!(first.view.id, again.view.id);
    let other = handle.submit(keyed("2")).await.unwrap_err();
    assert!(matches!(other, CoordinatorError::IdempotencyConflict { job } if job == first.view.id));
}

#[actix::test]
async fn a_key_whose_job_was_never_created_creates_it_now() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let mut keyed = request("1");
    keyed.idempotency_key = Some("key".into());
    let probe = handle.submit(keyed.clone()).await.unwrap();
    let record = crate::handle::stored(&handle.site(), probe.view.id)
        .await
        .unwrap();
    let digest = record.record().request.clone();
    let id = proofmill_shared::protocol::JobId::generate();
    let ttl = Duration::from_secs(60);
    let reserved = cluster
        .broker
        .reserve_idempotency("cut-off", id, &digest, ttl)
        .await;
    reserved.unwrap();
    keyed.idempotency_key = Some("cut-off".into());
    let submitted = handle.submit(keyed).await.unwrap();
    assert_eq!((submitted.view.id, submitted.is_new), (id, true));
}

#[actix::test]
async fn what_cannot_become_a_job_is_refused_before_anything_is_written() {
    let cluster = Cluster::new().await;
    let mut options = cluster.options();
    options.queue_limit = 1;
    let handle = cluster.coordinator_with(options).await;
    let none = handle.submit(request("1")).await.unwrap_err();
    assert!(matches!(none, CoordinatorError::UnknownCircuit { .. }));
    let _synth = cluster.synth("synth-1").await;
    let large = handle
        .submit(request(&"1".repeat(2_000)))
        .await
        .unwrap_err();
    assert!(matches!(large, CoordinatorError::InputTooLarge { .. }));
    let mut late = request("1");
    late.deadline = Some(cluster.clock.now());
    let late = handle.submit(late).await.unwrap_err();
    assert!(matches!(late, CoordinatorError::DeadlinePassed));
    assert_eq!(handle.jobs(None, 10).await.unwrap(), []);
    handle.submit(request("1")).await.unwrap();
    let full = handle.submit(request("1")).await.unwrap_err();
    assert!(matches!(full, CoordinatorError::QueueFull { limit: 1, .. }));
    let unknown = handle
        .job(proofmill_shared::protocol::JobId::generate())
        .await
        .unwrap_err();
    assert!(matches!(unknown, CoordinatorError::UnknownJob { .. }));
}

#[actix::test]
async fn an_input_at_fault_is_rejected_with_the_workers_reason() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let view = run(&handle, request("many")).await;
    assert_eq!(view.state, JobState::Rejected);
    assert_eq!(view.failure.unwrap().code, "bad-input");
    assert_books_are_clear(&handle).await;
}

#[actix::test]
async fn a_result_other_than_stated_is_rejected_and_the_stated_one_is_not() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let _gpu = cluster.gpu("gpu-1", Manner::Diligent).await;
    let inputs = |at| Some(vec![vec![public_input(at).to_string()]]);
    for (at, state) in [(0, JobState::Succeeded), (9, JobState::Rejected)] {
        let mut request = request("1");
        request.expect = Some(Expectation {
            public_inputs: inputs(at),
            output: Some(json!(1)),
        });
        assert_eq!(run(&handle, request).await.state, state);
    }
}

#[actix::test]
async fn a_job_past_its_deadline_expires() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let mut request = request("1");
    request.deadline = Some(cluster.clock.now().plus(Duration::from_millis(300)));
    let view = run(&handle, request).await;
    assert_eq!(view.state, JobState::Expired);
    assert_books_are_clear(&handle).await;
}

#[actix::test]
async fn a_cancelled_job_stops_its_worker_and_stays_cancelled() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let gpu = cluster.gpu("gpu-1", Manner::Dawdling).await;
    let job = handle.submit(request("1")).await.unwrap().view.id;
    wait_until("the device starts", async || {
        !gpu.diary.lock().started.is_empty()
    })
    .await;
    let view = handle.cancel(job).await.unwrap();
    assert_eq!(view.state, JobState::Cancelled);
    wait_until("the device is told", async || {
        !gpu.diary.lock().cancelled.is_empty()
    })
    .await;
    let again = handle.cancel(job).await.unwrap_err();
    assert!(matches!(again, CoordinatorError::WrongState { .. }));
    assert_eq!(handle.job(job).await.unwrap().state, JobState::Cancelled);
    let retried = handle.retry(job).await.unwrap_err();
    assert!(matches!(retried, CoordinatorError::WrongState { .. }));
    assert_books_are_clear(&handle).await;
}

#[actix::test]
async fn workers_are_shown_with_what_they_were_assigned() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let _gpu = cluster.worker("gpu-1", Role::Gpu, Manner::Dawdling).await;
    handle.submit(request("1")).await.unwrap();
    wait_until("the device is assigned", async || {
        let workers = handle.workers().await.unwrap();
        workers
            .iter()
            .any(|worker| worker.record.role == Role::Gpu && worker.assigned == 1)
    })
    .await;
    assert_eq!(handle.circuits().await.unwrap().len(), 1);
}

#[test]
fn a_panic_in_an_actor_ends_the_process() {
    let runner = System::new();
    runner.block_on(async {
        let cluster = Cluster::new().await;
        let handle = cluster.coordinator().await;
        handle.supervisor().do_send(PanicNow);
        let part = "job supervisor";
        assert_eq!(handle.ended().await, CoordinatorEnd::Panicked { part });
    });
    assert_eq!(runner.run_with_code().unwrap(), 1);
}
