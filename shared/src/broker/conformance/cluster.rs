//! About the cluster as a whole: its clock, its leader, its workers, its dead letters.

use std::thread;

use bytes::Bytes;

use super::given::{LONG, SHORT, bytes, wait_until, worker};
use crate::broker::BrokerHandle;
use crate::protocol::{CircuitId, JobId};

pub(super) async fn a_server_that_suits_says_what_it_is(broker: BrokerHandle) {
    let report = broker.check().await.unwrap();
    assert!(!report.server.is_empty());
    assert!(report.limit_bytes.is_some_and(|limit| limit > 0));
    assert!(report.is_loopback);
    assert!(broker.max_entry_bytes() >= 1 << 20);
}

pub(super) async fn the_cluster_has_one_epoch(broker: BrokerHandle) {
    let before = broker.now().await.unwrap();
    let epoch = broker.cluster_epoch().await.unwrap();
    let after = broker.now().await.unwrap();
    assert!(before <= epoch && epoch <= after);
    assert_eq!(broker.cluster_epoch().await.unwrap(), epoch);
}

pub(super) async fn one_leads_at_a_time(broker: BrokerHandle) {
    let first = broker.acquire_leadership("a", LONG).await.unwrap().unwrap();
    assert_eq!(broker.acquire_leadership("b", LONG).await.unwrap(), None);
    assert_eq!(broker.acquire_leadership("a", LONG).await.unwrap(), None);
    assert!(broker.renew_leadership("a", first, LONG).await.unwrap());
    assert!(!broker.renew_leadership("b", first, LONG).await.unwrap());
    broker.release_leadership("b", first).await.unwrap();
    assert_eq!(broker.acquire_leadership("b", LONG).await.unwrap(), None);

    broker.release_leadership("a", first).await.unwrap();
    let second = broker.acquire_leadership("b", LONG).await.unwrap().unwrap();
    assert!(second > first);
    assert!(!broker.renew_leadership("a", first, LONG).await.unwrap());
    broker.release_leadership("a", first).await.unwrap();
    assert!(broker.renew_leadership("b", second, LONG).await.unwrap());
}

pub(super) async fn a_lead_that_is_not_renewed_is_lost(broker: BrokerHandle) {
    let first = broker
        .acquire_leadership("a", SHORT)
        .await
        .unwrap()
        .unwrap();
    let mut second = None;
    wait_until("the lead is free", async || {
        second = broker.acquire_leadership("b", LONG).await.unwrap();
        second.is_some()
    })
    .await;
    assert!(second.unwrap() > first);
    assert!(!broker.renew_leadership("a", first, LONG).await.unwrap());
}

pub(super) async fn heartbeats_expire(broker: BrokerHandle) {
    let mut short = broker.open_heartbeat(&worker("short")).await.unwrap();
    let mut long = broker.open_heartbeat(&worker("long")).await.unwrap();
    let beats = thread::spawn(move || {
        long.beat(b"old", LONG).unwrap();
        long.beat(b"long", LONG).unwrap();
        short.beat(b"short", SHORT).unwrap();
    });
    tokio::task::spawn_blocking(move || beats.join().unwrap())
        .await
        .unwrap();
    wait_until("only the long heartbeat is left", async || {
        broker.workers().await.unwrap() == [bytes("long")]
    })
    .await;
}

pub(super) async fn a_worker_that_leaves_is_gone(broker: BrokerHandle) {
    let name = worker("w");
    let mut old = broker.open_heartbeat(&name).await.unwrap();
    let mut new = broker.open_heartbeat(&name).await.unwrap();
    let (mut old, mut new) = tokio::task::spawn_blocking(move || {
        old.beat(b"old life", LONG).unwrap();
        new.beat(b"new life", LONG).unwrap();
        // The old life's leaving does not take the new one with it.
        old.leave().unwrap();
        (old, new)
    })
    .await
    .unwrap();
    assert_eq!(broker.workers().await.unwrap(), [bytes("new life")]);
    tokio::task::spawn_blocking(move || {
        new.leave().unwrap();
        old.leave().unwrap();
    })
    .await
    .unwrap();
    assert_eq!(broker.workers().await.unwrap(), Vec::<Bytes>::new());
}

pub(super) async fn circuits_are_listed(broker: BrokerHandle) {
    let id = |text: &str| text.parse::<CircuitId>().unwrap();
    for (name, record) in [("b", "one"), ("a", "two"), ("b", "three"), ("b@2", "four")] {
        broker.put_circuit(&id(name), bytes(record)).await.unwrap();
    }
    let found = broker.circuits().await.unwrap();
    assert_eq!(found, [bytes("two"), bytes("three"), bytes("four")]);
}

pub(super) async fn dead_letters_list_newest_first(broker: BrokerHandle) {
    let jobs: Vec<JobId> = (0..3).map(|_| JobId::generate()).collect();
    // Filed in another order than the jobs were made.
    for at in [1, 0, 2] {
        let letter = bytes(&format!("letter {at}"));
        broker.put_dead_letter(jobs[at], letter).await.unwrap();
    }
    let listed =
        |found: Vec<(JobId, Bytes)>| found.into_iter().map(|(job, _)| job).collect::<Vec<_>>();
    let all = broker.dead_letters(9).await.unwrap();
    assert_eq!(all[0], (jobs[2], bytes("letter 2")));
    assert_eq!(listed(all), [jobs[2], jobs[0], jobs[1]]);
    assert_eq!(listed(broker.dead_letters(1).await.unwrap()), [jobs[2]]);
    assert_eq!(broker.dead_letters(0).await.unwrap(), []);

    assert!(broker.drop_dead_letter(jobs[0]).await.unwrap());
    assert!(!broker.drop_dead_letter(jobs[0]).await.unwrap());
    assert_eq!(
        listed(broker.dead_letters(9).await.unwrap()),
        [jobs[2], jobs[1]]
    );
}
