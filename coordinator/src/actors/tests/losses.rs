//! Workers, events and coordinators that go missing: every job ends all the same.

use proofmill_shared::protocol::Role;

use super::*;
use crate::actors::CoordinatorEnd;
use crate::job::{DeadLetter, MAX_FAILED_ATTEMPTS};

#[actix::test]
async fn a_lost_device_is_replaced_without_synthesizing_again() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let lost = cluster.gpu("gpu-1", Manner::Dawdling).await;
    let job = handle.submit(request("1")).await.unwrap().view.id;
    wait_until("the device starts", async || {
        !lost.diary.lock().started.is_empty()
    })
    .await;
    let _other = cluster.gpu("gpu-2", Manner::Diligent).await;
    lost.kill().await;
    let view = handle.wait(job, LIMIT).await.unwrap();
    assert_succeeded(&view);
    let partition = &view.partitions[0];
    assert_eq!((partition.synth_attempts, partition.prove_attempts), (1, 2));
    assert_books_are_clear(&handle).await;
}

#[actix::test]
async fn a_lost_synth_worker_is_replaced() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let lost = cluster
        .worker("synth-1", Role::Synth, Manner::Dawdling)
        .await;
    let _gpu = cluster.gpu("gpu-1", Manner::Diligent).await;
    let job = handle.submit(request("2")).await.unwrap().view.id;
    wait_until("the worker starts", async || {
        !lost.diary.lock().started.is_empty()
    })
    .await;
    lost.kill().await;
    let _other = cluster.synth("synth-2").await;
    assert_succeeded(&handle.wait(job, LIMIT).await.unwrap());
    assert_books_are_clear(&handle).await;
}

#[actix::test]
async fn a_worker_that_comes_back_as_a_new_process_loses_what_it_held() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let old = cluster.gpu("gpu-1", Manner::Dawdling).await;
    let job = handle.submit(request("1")).await.unwrap().view.id;
    wait_until("the device starts", async || {
        !old.diary.lock().started.is_empty()
    })
    .await;
    old.kill().await;
    let _new = cluster.gpu("gpu-1", Manner::Diligent).await;
    assert_succeeded(&handle.wait(job, LIMIT).await.unwrap());
    assert_books_are_clear(&handle).await;
}

#[actix::test]
async fn effects_whose_events_were_lost_are_found_by_their_marks() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let _gpu = cluster.gpu("gpu-1", Manner::Silent).await;
    let view = run(&handle, request("1")).await;
    assert_succeeded(&view);
    assert_eq!(view.partitions[0].prove_attempts, 1);
}

#[actix::test]
async fn attempts_that_run_out_leave_a_dead_letter_and_an_input_to_retry_with() {
    let cluster = Cluster::new().await;
    let handle = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let failing = cluster.gpu("gpu-1", Manner::Failing).await;
    let good = run(&handle, request("1")).await;
    assert_eq!(good.state, JobState::Failed);
    assert_eq!(good.failure.as_ref().unwrap().code, "device-error");
    let letters = cluster.broker.dead_letters(10).await.unwrap();
    assert_eq!(letters.len(), 1);
    let letter = DeadLetter::decode(&letters[0].1).unwrap();
    assert_eq!(
        (letter.job, letter.attempts, letter.trace_id),
        (good.id, MAX_FAILED_ATTEMPTS, good.trace_id.clone())
    );
    failing.kill().await;
    let _gpu = cluster.gpu("gpu-2", Manner::Diligent).await;
    let retried = handle.retry(good.id).await.unwrap();
    assert_eq!(retried.retry_of, Some(good.id));
    assert_succeeded(&handle.wait(retried.id, LIMIT).await.unwrap());
    assert_eq!(handle.job(good.id).await.unwrap().state, JobState::Failed);
}

#[actix::test]
async fn the_next_coordinator_finds_jobs_and_the_results_that_arrived_meanwhile() {
    let cluster = Cluster::new().await;
    let first = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let gpu = cluster.gpu("gpu-1", Manner::Dawdling).await;
    let job = first.submit(request("1")).await.unwrap().view.id;
    let waiting = first.submit(request("2")).await.unwrap().view.id;
    wait_until("the device starts", async || {
        !gpu.diary.lock().started.is_empty()
    })
    .await;
    first.stop().await;
    gpu.go_on.notify_one();
    let unit = proofmill_shared::protocol::Unit::Partition(0);
    wait_until("the proof is stored", async || {
        cluster
            .broker
            .load_result(job, unit)
            .await
            .unwrap()
            .is_some()
    })
    .await;
    cluster.lose_events().await;
    let second = cluster.coordinator().await;
    let view = second.wait(job, LIMIT).await.unwrap();
    assert_succeeded(&view);
    assert_eq!(view.partitions[0].prove_attempts, 1);
    let go_on = std::sync::Arc::clone(&gpu.go_on);
    let ended = second.wait(waiting, LIMIT);
    tokio::pin!(ended);
    let view = loop {
        tokio::select! {
            view = &mut ended => break view.unwrap(),
            () = tokio::time::sleep(std::time::Duration::from_millis(20)) => go_on.notify_one(),
        }
    };
    assert_succeeded(&view);
    assert_books_are_clear(&second).await;
}

#[actix::test]
async fn a_second_coordinator_stands_by_and_takes_over() {
    let cluster = Cluster::new().await;
    let first = cluster.coordinator().await;
    let second = Coordinator::start(cluster.options());
    let _synth = cluster.synth("synth-1").await;
    let _gpu = cluster.gpu("gpu-1", Manner::Diligent).await;
    let job = run(&first, request("1")).await.id;
    assert!(!second.is_ready());
    let refused = second.submit(request("1")).await.unwrap_err();
    assert!(matches!(
        refused,
        crate::handle::CoordinatorError::Unavailable
    ));
    assert_succeeded(&second.job(job).await.unwrap());
    first.stop().await;
    wait_until("the second leads", async || second.is_ready()).await;
    assert_succeeded(&run(&second, request("1")).await);
}

#[actix::test]
async fn a_coordinator_that_lost_the_lead_ends_at_its_next_write() {
    let cluster = Cluster::new().await;
    let first = cluster.coordinator().await;
    let _synth = cluster.synth("synth-1").await;
    let gpu = cluster.gpu("gpu-1", Manner::Dawdling).await;
    let job = first.submit(request("1")).await.unwrap().view.id;
    wait_until("the device starts", async || {
        !gpu.diary.lock().started.is_empty()
    })
    .await;
    cluster.depose(&first).await;
    let second = cluster.coordinator().await;
    second.cancel(job).await.unwrap();
    assert_eq!(first.ended().await, CoordinatorEnd::Deposed);
    assert_eq!(second.job(job).await.unwrap().state, JobState::Cancelled);
}
