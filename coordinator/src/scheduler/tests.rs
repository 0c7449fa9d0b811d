//! Order, credits, throttle.

use std::sync::Arc;
use std::time::Duration;

use proofmill_shared::protocol::{
    CircuitId, Digest, Incarnation, JobId, PROTOCOL_VERSION, Role, Stage, Unit, UnixMicros,
    WorkerId, WorkerRecord,
};

use super::pick::STARVATION_GUARD;
use super::*;
use crate::view::Priority;

const NOW: UnixMicros = UnixMicros(1_000_000);
const LIMITS: FlowLimits = FlowLimits {
    lookahead: 2,
    payload_bytes: None,
};

fn shape() -> Digest {
    Digest::of(b"shape")
}

fn worker(name: &str, role: Role, slots: u32, prefetch: u32) -> WorkerRecord {
    WorkerRecord {
        id: WorkerId::new(name).unwrap(),
        incarnation: Incarnation::generate(),
        role,
        protocol: PROTOCOL_VERSION,
        version: "0".into(),
        host: "host".into(),
        started_at: NOW,
        slots,
        prefetch,
        circuits: vec!["chain".parse().unwrap()],
        warm: Vec::new(),
        device: None,
        held: Vec::new(),
        is_draining: false,
        needs_evaluations: false,
        clock_offset_micros: 0,
        clock_uncertainty_micros: 0,
    }
}

fn ready(unit: Unit, stage: Stage) -> ReadyUnit {
    ReadyUnit {
        what: UnitStage {
            job: JobId::generate(),
            unit,
            stage,
        },
        urgency: Urgency {
            priority: Priority::Normal,
            deadline: None,
            submitted_at: NOW,
        },
        circuit: CircuitId::new("chain", 1).unwrap(),
        shape: Some(shape()),
        avoid: None,
        not_before: NOW,
    }
}

fn partition() -> ReadyUnit {
    ready(Unit::Partition(0), Stage::Synthesis)
}

fn proving() -> ReadyUnit {
    ready(Unit::Partition(0), Stage::Proving)
}

fn scheduler(workers: impl IntoIterator<Item = WorkerRecord>) -> Scheduler {
    let mut scheduler = Scheduler::new(LIMITS);
    for worker in workers {
        scheduler.worker_seen(Arc::new(worker));
    }
    scheduler
}

fn drain(scheduler: &mut Scheduler) -> Vec<Assignment> {
    std::iter::from_fn(|| scheduler.next_assignment(NOW)).collect()
}

#[test]
fn priority_goes_before_deadline_and_deadline_before_age() {
    let mut scheduler = scheduler([worker("gpu", Role::Gpu, 4, 0)]);
    let with = |priority, deadline: Option<u64>, submitted: u64| {
        let mut ready = proving();
        ready.urgency = Urgency {
            priority,
            deadline: deadline.map(UnixMicros),
            submitted_at: UnixMicros(submitted),
        };
        ready
    };
    let wanted = [
        with(Priority::High, None, 9),
        with(Priority::Normal, Some(50), 8),
        with(Priority::Normal, None, 1),
        with(Priority::Normal, None, 2),
    ];
    for ready in wanted.iter().rev() {
        scheduler.enqueue(ready.clone(), NOW);
    }
    let got: Vec<UnitStage> = drain(&mut scheduler).iter().map(|got| got.what).collect();
    assert_eq!(got, wanted.map(|ready| ready.what));
}

#[test]
fn a_worker_gets_no_more_than_its_slots_and_prefetch() {
    let mut scheduler = scheduler([worker("gpu", Role::Gpu, 1, 1)]);
    let units = [proving(), proving(), proving()];
    for ready in &units {
        scheduler.enqueue(ready.clone(), NOW);
    }
    let got = drain(&mut scheduler);
    assert_eq!(got.len(), 2);
    assert!(scheduler.release(&got[0].what).is_some());
    assert_eq!(drain(&mut scheduler).len(), 1);
    assert_eq!((scheduler.credits_out(), scheduler.queued()), (2, 0));
}

#[test]
fn a_draining_worker_or_one_that_lacks_the_circuit_gets_nothing() {
    let mut draining = worker("a", Role::Synth, 1, 0);
    draining.is_draining = true;
    let mut stranger = worker("b", Role::Synth, 1, 0);
    stranger.circuits = vec!["other".parse().unwrap()];
    let mut scheduler = scheduler([draining, stranger, worker("gpu", Role::Gpu, 1, 0)]);
    scheduler.enqueue(partition(), NOW);
    assert_eq!(drain(&mut scheduler), []);
    scheduler.worker_seen(Arc::new(worker("c", Role::Synth, 1, 0)));
    assert_eq!(drain(&mut scheduler)[0].to.worker.as_str(), "c");
}

#[test]
fn an_idle_device_goes_before_a_warm_one_and_a_warm_one_before_a_cold_one() {
    let mut warm = worker("z-warm", Role::Gpu, 1, 1);
    warm.warm = vec![shape()];
    let mut scheduler = scheduler([worker("a-cold", Role::Gpu, 1, 1), warm]);
    for _ in 0..4 {
        scheduler.enqueue(proving(), NOW);
    }
    let got: Vec<String> = drain(&mut scheduler)
        .into_iter()
        .map(|got| got.to.worker.to_string())
        .collect();
    assert_eq!(got, ["z-warm", "a-cold", "z-warm", "a-cold"]);
}

#[test]
fn the_next_attempt_goes_elsewhere_if_there_is_an_elsewhere() {
    let mut scheduler = scheduler([worker("a", Role::Gpu, 2, 0), worker("b", Role::Gpu, 1, 0)]);
    let mut again = proving();
    again.avoid = Some(WorkerId::new("a").unwrap());
    scheduler.enqueue(proving(), NOW);
    scheduler.enqueue(again.clone(), NOW);
    let got = drain(&mut scheduler);
    let of_again = got.iter().find(|got| got.what == again.what).unwrap();
    assert_eq!(of_again.to.worker.as_str(), "b");
    scheduler.release(&again.what);
    scheduler.worker_gone(&WorkerId::new("b").unwrap());
    scheduler.enqueue(again.clone(), NOW);
    assert_eq!(drain(&mut scheduler)[0].to.worker.as_str(), "a");
}

#[test]
fn a_unit_waits_out_its_backoff() {
    let mut scheduler = scheduler([worker("gpu", Role::Gpu, 1, 0)]);
    let mut later = proving();
    later.not_before = NOW.plus(Duration::from_secs(1));
    scheduler.enqueue(later.clone(), NOW);
    assert_eq!(scheduler.next_assignment(NOW), None);
    assert_eq!(scheduler.next_wake(), Some(later.not_before));
    assert!(scheduler.next_assignment(later.not_before).is_some());
}

#[test]
fn synthesis_stops_at_the_lookahead_and_goes_on_when_a_device_starts() {
    let synth = worker("synth", Role::Synth, 9, 0);
    let mut scheduler = scheduler([synth, worker("gpu", Role::Gpu, 1, 0)]);
    for _ in 0..5 {
        scheduler.enqueue(partition(), NOW);
    }
    let got = drain(&mut scheduler);
    assert_eq!(got.len(), LIMITS.lookahead);
    let job = got[0].what.job;
    scheduler.shipped(job, 0, Some(shape()), Some(10), None);
    assert_eq!(drain(&mut scheduler), [], "shipped still waits");
    scheduler.proving_began(job, 0);
    assert_eq!(drain(&mut scheduler).len(), 1);
    scheduler.enqueue(ready(Unit::Plan, Stage::Synthesis), NOW);
    scheduler.enqueue(ready(Unit::Finish, Stage::Synthesis), NOW);
    assert_eq!(drain(&mut scheduler).len(), 2, "plans and finishes may");
}

#[test]
fn slow_synthesis_gets_as_many_under_way_as_keep_the_device_fed() {
    let synth = worker("synth", Role::Synth, 20, 0);
    let mut scheduler = scheduler([synth, worker("gpu", Role::Gpu, 1, 0)]);
    let (job, took) = (JobId::generate(), Duration::from_secs(50));
    scheduler.shipped(job, 0, Some(shape()), Some(10), Some(took));
    let gpu = WorkerId::new("gpu").unwrap();
    let proof = Duration::from_secs(10);
    scheduler.proved(Some(shape()), Some((&gpu, proof)), NOW);
    scheduler.payload_gone(job, 0);
    for _ in 0..20 {
        scheduler.enqueue(partition(), NOW);
    }
    assert_eq!(drain(&mut scheduler).len(), LIMITS.lookahead + 5);
}

#[test]
fn synthesis_stops_at_the_byte_budget_and_learns_what_assignments_really_take() {
    let mut scheduler = Scheduler::new(FlowLimits {
        lookahead: 100,
        payload_bytes: Some(1_000),
    });
    scheduler.worker_seen(Arc::new(worker("synth", Role::Synth, 50, 0)));
    scheduler.shape_known(shape(), 400);
    for _ in 0..40 {
        scheduler.enqueue(partition(), NOW);
    }
    let got = drain(&mut scheduler);
    assert_eq!(got.len(), 2, "worst case: 500 bytes each in the broker");
    scheduler.shipped(got[0].what.job, 0, Some(shape()), Some(40), None);
    assert_eq!(
        drain(&mut scheduler).len(),
        8,
        "445 left, 55 each: a tenth above the largest seen"
    );
    for assignment in &got {
        scheduler.payload_gone(assignment.what.job, 0);
    }
    assert_eq!(drain(&mut scheduler).len(), 10, "555 given back, 5 over");
}

#[test]
fn an_assignment_beyond_the_whole_budget_still_gets_its_chance() {
    let mut scheduler = Scheduler::new(FlowLimits {
        lookahead: 100,
        payload_bytes: Some(10),
    });
    scheduler.worker_seen(Arc::new(worker("synth", Role::Synth, 5, 0)));
    scheduler.shape_known(shape(), 400);
    scheduler.enqueue(partition(), NOW);
    scheduler.enqueue(partition(), NOW);
    assert_eq!(drain(&mut scheduler).len(), 1);
}

#[test]
fn the_oldest_unit_is_not_starved_by_more_urgent_ones() {
    let mut scheduler = scheduler([worker("gpu", Role::Gpu, 1, 0)]);
    let mut old = proving();
    old.urgency.priority = Priority::Low;
    old.urgency.submitted_at = UnixMicros(1);
    scheduler.enqueue(old.clone(), NOW);
    for picked in 1..=STARVATION_GUARD {
        let mut urgent = proving();
        urgent.urgency.priority = Priority::Critical;
        scheduler.enqueue(urgent, NOW);
        let got = scheduler.next_assignment(NOW).unwrap();
        assert_eq!(got.what == old.what, picked == STARVATION_GUARD);
        scheduler.release(&got.what);
    }
}

#[test]
fn a_hundred_thousand_queued_jobs_are_scheduled_in_order_and_in_time() {
    let mut scheduler = scheduler([worker("synth", Role::Synth, 4, 0)]);
    let count = 100_000u64;
    for index in 0..count {
        let mut plan = ready(Unit::Plan, Stage::Synthesis);
        plan.urgency.submitted_at = UnixMicros(index);
        scheduler.enqueue(plan, NOW);
    }
    assert_eq!(scheduler.queued(), 100_000);
    let mut got = 0;
    while let Some(assignment) = scheduler.next_assignment(NOW) {
        got += 1;
        scheduler.release(&assignment.what);
    }
    assert_eq!((got, scheduler.queued()), (count, 0));
    assert_eq!(scheduler.credits_out(), 0);
}
