//! About jobs, their inputs and their timelines.

use bytes::Bytes;

use super::given::{
    LEADER, LONG, SHORT, bytes, commit, ending, job_with_tokens, new_job, task, unit_write,
    wait_until,
};
use crate::broker::{
    BrokerHandle, CommitOutcome, IdempotencyOutcome, JobCommit, LeaderToken, ResultWrite,
};
use crate::protocol::{Digest, FencingToken, JobId, Stage, Unit};

pub(super) async fn commit_is_compare_and_set(broker: BrokerHandle) {
    let job = new_job(&broker).await;
    let units = vec![
        unit_write(Unit::Plan, 1, 0),
        unit_write(Unit::Partition(3), 0, 2),
    ];
    let first = broker.commit(commit(job, 1, units)).await.unwrap();
    assert_eq!(first, CommitOutcome::Committed { version: 2 });
    let other = JobCommit {
        record: bytes("somebody else's"),
        ..commit(job, 1, Vec::new())
    };
    let late = broker.commit(other).await.unwrap();
    assert_eq!(late, CommitOutcome::Conflict { version: 2 });

    let stored = broker.load_job(job).await.unwrap().unwrap();
    assert_eq!((stored.version, stored.record), (2, bytes("after 1")));
    let units: Vec<_> = stored.units.keys().copied().collect();
    assert_eq!(units, [Unit::Plan, Unit::Partition(3)]);
    let (record, marks) = &stored.units[&Unit::Partition(3)];
    assert_eq!(record, &bytes("unit"));
    assert_eq!(marks.prove_token, FencingToken(2));
    assert_eq!(marks.synth_token, FencingToken(0));
}

pub(super) async fn a_commit_made_twice_is_answered_as_the_first(broker: BrokerHandle) {
    let job = new_job(&broker).await;
    let write = commit(job, 1, vec![unit_write(Unit::Plan, 1, 0)]);
    for _ in 0..2 {
        let answer = broker.commit(write.clone()).await.unwrap();
        assert_eq!(answer, CommitOutcome::Committed { version: 2 });
    }
    assert_eq!(broker.load_job(job).await.unwrap().unwrap().version, 2);
}

pub(super) async fn a_job_is_created_once(broker: BrokerHandle) {
    let job = new_job(&broker).await;
    let again = broker.create_job(job, LEADER, bytes("accepted")).await;
    assert_eq!(again.unwrap(), CommitOutcome::Committed { version: 1 });
    let other = broker.create_job(job, LEADER, bytes("another")).await;
    assert_eq!(other.unwrap(), CommitOutcome::Conflict { version: 1 });
    let stored = broker.load_job(job).await.unwrap().unwrap();
    assert_eq!(stored.record, bytes("accepted"));
    assert!(broker.load_job(JobId::generate()).await.unwrap().is_none());
}

pub(super) async fn a_deposed_leader_is_refused(broker: BrokerHandle) {
    let job = new_job(&broker).await;
    let younger = JobCommit {
        leader: LeaderToken(LEADER.0 + 1),
        ..commit(job, 1, Vec::new())
    };
    let answer = broker.commit(younger).await.unwrap();
    assert_eq!(answer, CommitOutcome::Committed { version: 2 });
    let answer = broker.commit(commit(job, 2, Vec::new())).await.unwrap();
    let leader = LeaderToken(LEADER.0 + 1);
    assert_eq!(answer, CommitOutcome::Deposed { leader });
    assert_eq!(broker.load_job(job).await.unwrap().unwrap().version, 2);
}

pub(super) async fn a_missing_job_cannot_be_committed(broker: BrokerHandle) {
    let answer = broker
        .commit(commit(JobId::generate(), 1, Vec::new()))
        .await;
    assert_eq!(answer.unwrap(), CommitOutcome::Missing);
}

pub(super) async fn marks_survive_the_coordinators_writes(broker: BrokerHandle) {
    let job = job_with_tokens(&broker, 1, 2).await;
    let synth = task(job, Stage::Synthesis, 1);
    broker.start(&synth).await.unwrap();
    broker
        .mark_shipped(&synth, Digest::of(b"manifest"))
        .await
        .unwrap();
    let prove = task(job, Stage::Proving, 2);
    broker.start(&prove).await.unwrap();
    broker.store_result(&prove, bytes("proof")).await.unwrap();
    let before = broker.load_marks(job, Unit::Partition(0)).await.unwrap();
    assert_eq!(before.shipped, FencingToken(1));
    assert_eq!(before.prove_started, FencingToken(2));
    assert!(before.has_result);

    let units = vec![unit_write(Unit::Partition(0), 0, 0)];
    broker.commit(commit(job, 2, units)).await.unwrap();
    let stored = broker.load_job(job).await.unwrap().unwrap();
    let (_, after) = stored.units[&Unit::Partition(0)];
    assert_eq!(after.synth_token, FencingToken(0));
    assert_eq!(after.synth_started, FencingToken(1));
    assert_eq!(after.prove_started, FencingToken(2));
    assert_eq!(after.shipped, FencingToken(1));
    assert!(after.has_result);
}

pub(super) async fn ended_jobs_keep_their_retention(broker: BrokerHandle) {
    let job = job_with_tokens(&broker, 1, 2).await;
    let prove = task(job, Stage::Proving, 2);
    let stored = broker.store_result(&prove, bytes("proof")).await.unwrap();
    assert_eq!(stored, ResultWrite::Stored);
    broker
        .append_timeline(job, vec![bytes("begin")])
        .await
        .unwrap();
    let kept = job_with_tokens(&broker, 1, 2).await;

    broker.commit(ending(job, 2, SHORT, true)).await.unwrap();
    broker.commit(ending(kept, 2, LONG, true)).await.unwrap();
    broker
        .append_timeline(job, vec![bytes("end")])
        .await
        .unwrap();
    assert_eq!(broker.active_jobs().await.unwrap(), []);
    assert_eq!(broker.recent_jobs(None, 9).await.unwrap(), [kept, job]);

    wait_until("the ended job is gone", async || {
        broker.load_job(job).await.unwrap().is_none()
            && broker
                .load_result(job, Unit::Partition(0))
                .await
                .unwrap()
                .is_none()
            && broker.load_timeline(job).await.unwrap().is_empty()
    })
    .await;
    let marks = broker.load_marks(job, Unit::Partition(0)).await.unwrap();
    assert!(!marks.has_result);
    assert_eq!(broker.recent_jobs(None, 9).await.unwrap(), [kept]);
    assert!(broker.load_job(kept).await.unwrap().is_some());
}

pub(super) async fn an_ended_job_drops_or_keeps_its_input_as_asked(broker: BrokerHandle) {
    for drops in [true, false] {
        let job = JobId::generate();
        broker.put_input(job, bytes("input"), LONG).await.unwrap();
        broker
            .create_job(job, LEADER, bytes("accepted"))
            .await
            .unwrap();
        broker.commit(ending(job, 1, LONG, drops)).await.unwrap();
        let input = broker.get_input(job).await.unwrap();
        assert_eq!(input.is_none(), drops);
    }
}

pub(super) async fn recent_jobs_page(broker: BrokerHandle) {
    let mut jobs = Vec::new();
    for _ in 0..5 {
        jobs.push(new_job(&broker).await);
    }
    broker.commit(ending(jobs[3], 1, LONG, true)).await.unwrap();
    jobs.reverse();
    assert_eq!(broker.recent_jobs(None, 2).await.unwrap(), jobs[..2]);
    let next = broker.recent_jobs(Some(jobs[1]), 2).await.unwrap();
    assert_eq!(next, jobs[2..4]);
    let last = broker.recent_jobs(Some(jobs[3]), 2).await.unwrap();
    assert_eq!(last, jobs[4..]);
    assert_eq!(broker.recent_jobs(Some(jobs[4]), 2).await.unwrap(), []);
    assert_eq!(broker.recent_jobs(None, 0).await.unwrap(), []);
}

pub(super) async fn active_jobs_are_listed_oldest_first(broker: BrokerHandle) {
    let mut jobs = Vec::new();
    for _ in 0..4 {
        jobs.push(new_job(&broker).await);
    }
    assert_eq!(broker.active_jobs().await.unwrap(), jobs);
    broker.commit(ending(jobs[1], 1, LONG, true)).await.unwrap();
    jobs.remove(1);
    assert_eq!(broker.active_jobs().await.unwrap(), jobs);
}

pub(super) async fn an_input_larger_than_one_entry_reads_back(broker: BrokerHandle) {
    let length = broker.max_entry_bytes() * 2 + 12_345;
    let pattern = (0..length).map(|at| u8::try_from(at % 251).unwrap());
    let input: Bytes = pattern.collect::<Vec<u8>>().into();
    let job = JobId::generate();
    broker.put_input(job, input.clone(), LONG).await.unwrap();
    assert!(broker.get_input(job).await.unwrap() == Some(input));

    broker.put_input(job, bytes("shorter"), LONG).await.unwrap();
    assert_eq!(broker.get_input(job).await.unwrap(), Some(bytes("shorter")));
    let empty = JobId::generate();
    broker.put_input(empty, Bytes::new(), LONG).await.unwrap();
    assert_eq!(broker.get_input(empty).await.unwrap(), Some(Bytes::new()));
}

pub(super) async fn an_input_expires_unless_its_job_is_created(broker: BrokerHandle) {
    let (given_up, created) = (JobId::generate(), JobId::generate());
    for job in [created, given_up] {
        broker.put_input(job, bytes("input"), SHORT).await.unwrap();
    }
    broker
        .create_job(created, LEADER, bytes("accepted"))
        .await
        .unwrap();
    wait_until("the input of no job is gone", async || {
        broker.get_input(given_up).await.unwrap().is_none()
    })
    .await;
    // Its time to live had begun, and would have ended, before the other's.
    assert_eq!(
        broker.get_input(created).await.unwrap(),
        Some(bytes("input"))
    );
}

pub(super) async fn idempotency_keys_bind_once(broker: BrokerHandle) {
    let (first, second) = (JobId::generate(), JobId::generate());
    let key = "order 7 {with} braces\nand lines";
    let bind = async |job, request: &str| {
        broker
            .reserve_idempotency(key, job, request, LONG)
            .await
            .unwrap()
    };
    assert_eq!(bind(first, "digest").await, IdempotencyOutcome::Reserved);
    let taken = IdempotencyOutcome::Taken {
        job: first,
        request: "digest".to_owned(),
    };
    assert_eq!(bind(second, "digest").await, taken);
    assert_eq!(bind(second, "other").await, taken);
    assert_eq!(bind(first, "digest").await, IdempotencyOutcome::Reserved);

    let brief = broker.reserve_idempotency("brief", first, "digest", SHORT);
    assert_eq!(brief.await.unwrap(), IdempotencyOutcome::Reserved);
    wait_until("the brief key is free again", async || {
        let again = broker.reserve_idempotency("brief", second, "digest", SHORT);
        again.await.unwrap() == IdempotencyOutcome::Reserved
    })
    .await;
}

pub(super) async fn timeline_keeps_order(broker: BrokerHandle) {
    let job = new_job(&broker).await;
    let line = |at: u32| bytes(&format!("record {at}"));
    broker
        .append_timeline(job, vec![line(0), line(1)])
        .await
        .unwrap();
    broker.append_timeline(job, Vec::new()).await.unwrap();
    broker.append_timeline(job, vec![line(2)]).await.unwrap();
    let all: Vec<Bytes> = (0..3).map(line).collect();
    assert_eq!(broker.load_timeline(job).await.unwrap(), all);
}

pub(super) async fn a_timeline_of_no_job_is_not_kept(broker: BrokerHandle) {
    let job = JobId::generate();
    broker
        .append_timeline(job, vec![bytes("late")])
        .await
        .unwrap();
    assert_eq!(
        broker.load_timeline(job).await.unwrap(),
        Vec::<Bytes>::new()
    );
}
