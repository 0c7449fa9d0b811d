//! About the token-checked writes of workers.

use super::given::{bytes, commit, job_with_tokens, task, unit_write};
use crate::broker::{BrokerHandle, ResultWrite, TokenCheck};
use crate::protocol::{Digest, FencingToken, JobId, Stage, Unit};

const UNIT: Unit = Unit::Partition(0);

fn stale(token: u64) -> TokenCheck {
    TokenCheck::Stale {
        current: FencingToken(token),
    }
}

pub(super) async fn stale_tokens_are_refused(broker: BrokerHandle) {
    let job = job_with_tokens(&broker, 4, 0).await;
    for token in [3, 5] {
        let key = task(job, Stage::Synthesis, token);
        assert_eq!(broker.start(&key).await.unwrap(), stale(4));
        let shipped = broker.mark_shipped(&key, Digest::of(b"manifest")).await;
        assert_eq!(shipped.unwrap(), stale(4));
    }
    let marks = broker.load_marks(job, UNIT).await.unwrap();
    assert_eq!(marks.synth_started, FencingToken(0));
    assert_eq!(marks.shipped, FencingToken(0));

    let held = task(job, Stage::Synthesis, 4);
    assert_eq!(broker.start(&held).await.unwrap(), TokenCheck::Accepted);
    let units = vec![unit_write(UNIT, 5, 0)];
    broker.commit(commit(job, 2, units)).await.unwrap();
    let shipped = broker.mark_shipped(&held, Digest::of(b"manifest")).await;
    assert_eq!(shipped.unwrap(), stale(5));
}

pub(super) async fn token_zero_accepts_nobody(broker: BrokerHandle) {
    let job = job_with_tokens(&broker, 0, 0).await;
    for stage in [Stage::Synthesis, Stage::Proving] {
        for token in [0, 1] {
            let key = task(job, stage, token);
            assert_eq!(broker.start(&key).await.unwrap(), stale(0));
        }
    }
    let nowhere = task(JobId::generate(), Stage::Synthesis, 0);
    assert_eq!(broker.start(&nowhere).await.unwrap(), stale(0));
    let stored = broker.store_result(&nowhere, bytes("result")).await;
    let current = FencingToken(0);
    assert_eq!(stored.unwrap(), ResultWrite::Stale { current });
}

pub(super) async fn a_start_may_be_repeated(broker: BrokerHandle) {
    let job = job_with_tokens(&broker, 0, 7).await;
    let key = task(job, Stage::Proving, 7);
    for _ in 0..2 {
        assert_eq!(broker.start(&key).await.unwrap(), TokenCheck::Accepted);
    }
    let marks = broker.load_marks(job, UNIT).await.unwrap();
    assert_eq!(marks.prove_started, FencingToken(7));
    assert_eq!(marks.synth_started, FencingToken(0));
}

pub(super) async fn a_result_is_set_once(broker: BrokerHandle) {
    let job = job_with_tokens(&broker, 0, 7).await;
    assert_eq!(broker.load_result(job, UNIT).await.unwrap(), None);
    let key = task(job, Stage::Proving, 7);
    let first = broker.store_result(&key, bytes("first")).await.unwrap();
    assert_eq!(first, ResultWrite::Stored);
    let second = broker.store_result(&key, bytes("second")).await.unwrap();
    assert_eq!(second, ResultWrite::AlreadyStored);
    let result = broker.load_result(job, UNIT).await.unwrap();
    assert_eq!(result, Some(bytes("first")));
    assert!(broker.load_marks(job, UNIT).await.unwrap().has_result);
}

pub(super) async fn a_result_of_a_straggler_is_refused(broker: BrokerHandle) {
    let job = job_with_tokens(&broker, 0, 7).await;
    let units = vec![unit_write(UNIT, 0, 8)];
    broker.commit(commit(job, 2, units)).await.unwrap();
    let late = task(job, Stage::Proving, 7);
    let answer = broker.store_result(&late, bytes("late")).await.unwrap();
    let current = FencingToken(8);
    assert_eq!(answer, ResultWrite::Stale { current });
    assert_eq!(broker.load_result(job, UNIT).await.unwrap(), None);
    assert!(!broker.load_marks(job, UNIT).await.unwrap().has_result);
}

pub(super) async fn the_stage_picks_the_token(broker: BrokerHandle) {
    let job = job_with_tokens(&broker, 1, 2).await;
    let crossed = [(Stage::Synthesis, 2, 1), (Stage::Proving, 1, 2)];
    for (stage, token, current) in crossed {
        let answer = broker.start(&task(job, stage, token)).await.unwrap();
        assert_eq!(answer, stale(current));
    }
    let plan = task(job, Stage::Synthesis, 1);
    let stored = broker.store_result(&plan, bytes("plan")).await.unwrap();
    assert_eq!(stored, ResultWrite::Stored);
}

pub(super) async fn one_of_many_writers_stores_the_result(broker: BrokerHandle) {
    let job = job_with_tokens(&broker, 0, 7).await;
    let writers = (0..16).map(|writer| {
        let broker = broker.clone();
        tokio::spawn(async move {
            let result = bytes(&format!("result {writer}"));
            let key = task(job, Stage::Proving, 7);
            let answer = broker.store_result(&key, result.clone()).await;
            (answer.unwrap(), result)
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut stored = Vec::new();
    for writer in writers {
        match writer.await.unwrap() {
            (ResultWrite::Stored, result) => stored.push(result),
            (answer, _) => assert_eq!(answer, ResultWrite::AlreadyStored),
        }
    }
    assert_eq!(stored.len(), 1);
    let found = broker.load_result(job, UNIT).await.unwrap();
    assert_eq!(found.as_ref(), stored.first());
}
