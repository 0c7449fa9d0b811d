//! Tables of transitions.

use std::collections::BTreeMap;
use std::time::Duration;

use proofmill_shared::broker::UnitMarks;
use proofmill_shared::protocol::{
    Digest, FailureKind, FencingToken, Incarnation, JobId, Plan, Stage, Task, TaskFailure, TaskKey,
    Unit, UnixMicros, WorkerId,
};
use proofmill_shared::telemetry::TimelineEvent;

use super::*;
use crate::view::{JobState, PartitionState, Priority};

pub(super) fn job_record() -> JobRecord {
    JobRecord {
        id: JobId::generate(),
        circuit: "chain@1".parse().unwrap(),
        priority: Priority::Normal,
        state: JobState::Accepted,
        submitted_at: UnixMicros(1_000),
        deadline: Some(UnixMicros(10_000_000_000)),
        expect: None,
        input_bytes: 4,
        request: "digest".into(),
        root_span: "00000000000000aa".into(),
        traceparent: None,
        retry_of: None,
        plan: None,
        planned_at: UnixMicros(0),
        proved_at: UnixMicros(0),
        ended_at: None,
        failure: None,
    }
}

pub(super) fn plan(partition_count: u32) -> Plan {
    Plan {
        partition_count,
        shape: Digest::of(b"shape"),
        summary: "4 bytes".into(),
    }
}

pub(super) fn life(name: &str) -> WorkerLife {
    WorkerLife {
        worker: WorkerId::new(name).unwrap(),
        incarnation: Incarnation::generate(),
    }
}

/// A job that events are fed to, with its clock and the actions of the last one.
struct Bench {
    job: Option<Job>,
    now: UnixMicros,
    actions: Vec<Action>,
}

const P0: Unit = Unit::Partition(0);
const SYNTH: Stage = Stage::Synthesis;
const PROVE: Stage = Stage::Proving;

impl Bench {
    fn new() -> Self {
        let Transition { job, actions, .. } = accept(job_record());
        Self {
            job: Some(job),
            now: UnixMicros(2_000),
            actions,
        }
    }

    /// A job whose plan of some partitions is stored.
    fn planned(partition_count: u32) -> Self {
        let mut bench = Self::new();
        bench.assign(Unit::Plan, SYNTH, &life("synth-1"));
        bench.store(Unit::Plan, StoredResult::Plan(plan(partition_count)));
        bench
    }

    /// A job of one partition with its payload shipped.
    fn shipped() -> Self {
        let mut bench = Self::planned(1);
        let synth = life("synth-1");
        let key = bench.assign(P0, SYNTH, &synth);
        bench.report(&synth, key, Report::Started { at: None });
        bench.report(
            &synth,
            key,
            Report::Shipped {
                bytes: Some(9),
                at: None,
            },
        );
        bench
    }

    fn job(&self) -> &Job {
        self.job.as_ref().unwrap()
    }

    fn feed(&mut self, event: JobEvent) -> bool {
        self.now = self.now.plus(Duration::from_millis(1));
        let done = transition(self.job.take().unwrap(), event, self.now);
        self.job = Some(done.job);
        self.actions = done.actions;
        done.is_changed
    }

    fn assign(&mut self, unit: Unit, stage: Stage, to: &WorkerLife) -> TaskKey {
        let to = to.clone();
        assert!(self.feed(JobEvent::Assigned { unit, stage, to }));
        self.key(unit, stage)
    }

    fn key(&self, unit: Unit, stage: Stage) -> TaskKey {
        let live = self.job().unit(unit).unwrap().stage(stage).live.as_ref();
        live.unwrap().key(self.job().record().id, unit, stage)
    }

    fn report(&mut self, by: &WorkerLife, key: TaskKey, report: Report) -> bool {
        let by = Some(by.clone());
        self.feed(JobEvent::Reported { by, key, report })
    }

    fn store(&mut self, unit: Unit, result: StoredResult) -> bool {
        self.feed(JobEvent::Stored {
            unit,
            token: None,
            result,
        })
    }

    fn fail(&mut self, by: &WorkerLife, key: TaskKey, kind: FailureKind) -> bool {
        let failure = TaskFailure::new(kind, "some-code", "some reason");
        self.report(by, key, Report::Failed(failure))
    }

    fn has(&self, wanted: impl Fn(&Action) -> bool) -> bool {
        self.actions.iter().any(wanted)
    }

    fn enqueues(&self, wanted: Unit, at: Stage) -> bool {
        self.has(|action| {
            matches!(action, Action::Enqueue { unit, stage, .. } if (*unit, *stage) == (wanted, at))
        })
    }

    fn token(&self, unit: Unit, stage: Stage) -> u64 {
        self.job().unit(unit).unwrap().accepted_token(stage).0
    }
}

#[test]
fn an_accepted_job_waits_for_its_plan() {
    let bench = Bench::new();
    assert_eq!(bench.job().state(), JobState::Accepted);
    assert!(bench.enqueues(Unit::Plan, SYNTH));
    assert!(bench.has(
        |action| matches!(action, Action::Record(record) if record.event == TimelineEvent::JobSubmit)
    ));
}

#[test]
fn a_job_walks_through_every_state_to_success() {
    let (synth, gpu) = (life("synth-1"), life("gpu-1"));
    let mut bench = Bench::new();
    bench.assign(Unit::Plan, SYNTH, &synth);
    assert_eq!(bench.job().state(), JobState::Planning);
    assert!(bench.has(|action| matches!(
        action,
        Action::Post {
            task: Task::Plan(_),
            ..
        }
    )));
    bench.store(Unit::Plan, StoredResult::Plan(plan(2)));
    assert_eq!(bench.job().state(), JobState::Running);
    assert_eq!(bench.token(Unit::Plan, SYNTH), 0);
    for index in 0..2 {
        let unit = Unit::Partition(index);
        let key = bench.assign(unit, SYNTH, &synth);
        bench.report(&synth, key, Report::Started { at: None });
        bench.report(
            &synth,
            key,
            Report::Shipped {
                bytes: Some(7),
                at: None,
            },
        );
        assert!(bench.enqueues(unit, PROVE));
        let key = bench.assign(unit, PROVE, &gpu);
        assert!(bench.has(|action| matches!(
            action,
            Action::Post { task: Task::Prove(task), .. } if task.payload_attempt == 1
        )));
        bench.report(&gpu, key, Report::Started { at: None });
        assert_eq!(
            bench.job().unit(unit).unwrap().state(),
            PartitionState::Proving
        );
        bench.store(unit, StoredResult::Proof);
        assert!(bench.has(|action| matches!(action, Action::DropPayload { .. })));
    }
    assert_eq!(bench.job().state(), JobState::Finishing);
    assert!(bench.enqueues(Unit::Finish, SYNTH));
    bench.assign(Unit::Finish, SYNTH, &synth);
    bench.store(Unit::Finish, StoredResult::Output { mismatch: None });
    assert_eq!(bench.job().state(), JobState::Succeeded);
    assert!(bench.has(
        |action| matches!(action, Action::Record(record) if record.event == TimelineEvent::JobDone)
    ));
}

#[test]
fn a_gpu_is_bound_from_sending_on_and_keeps_its_attempt_when_the_payload_is_complete() {
    let (synth, gpu) = (life("synth-1"), life("gpu-1"));
    let mut bench = Bench::planned(1);
    let key = bench.assign(P0, SYNTH, &synth);
    let shape = plan(1).shape;
    bench.report(&synth, key, Report::Sending { shape });
    assert!(bench.enqueues(P0, PROVE));
    bench.assign(P0, PROVE, &gpu);
    bench.report(
        &synth,
        key,
        Report::Shipped {
            bytes: None,
            at: None,
        },
    );
    assert!(!bench.enqueues(P0, PROVE));
    assert_eq!((bench.token(P0, SYNTH), bench.token(P0, PROVE)), (0, 2));
}

#[test]
fn losing_a_sending_synthesis_takes_the_bound_gpu_back_without_blame() {
    let (synth, gpu) = (life("synth-1"), life("gpu-1"));
    let mut bench = Bench::planned(1);
    let key = bench.assign(P0, SYNTH, &synth);
    let shape = plan(1).shape;
    bench.report(&synth, key, Report::Sending { shape });
    let proving = bench.assign(P0, PROVE, &gpu);
    bench.report(&gpu, proving, Report::Started { at: None });
    let cause = LossCause::WorkerGone;
    bench.feed(JobEvent::AttemptLost { key, cause });
    assert!(bench.has(|action| matches!(action, Action::TakeBack { key, .. } if *key == proving)));
    assert!(bench.enqueues(P0, SYNTH));
    assert!(!bench.enqueues(P0, PROVE));
    let unit = bench.job().unit(P0).unwrap();
    assert_eq!((unit.synth.failed, unit.prove.failed), (1, 0));
    assert_eq!((bench.token(P0, SYNTH), bench.token(P0, PROVE)), (0, 0));
}

#[test]
fn losing_a_gpu_proves_again_without_synthesizing_again() {
    let gpu = life("gpu-1");
    let mut bench = Bench::shipped();
    let key = bench.assign(P0, PROVE, &gpu);
    bench.report(&gpu, key, Report::Started { at: None });
    let cause = LossCause::WorkerRestarted;
    bench.feed(JobEvent::AttemptLost { key, cause });
    assert!(bench.enqueues(P0, PROVE));
    assert!(!bench.enqueues(P0, SYNTH));
    assert!(bench.has(|action| matches!(
        action,
        Action::Enqueue { avoid: Some(worker), .. } if *worker == gpu.worker
    )));
    let again = bench.assign(P0, PROVE, &life("gpu-2"));
    assert_eq!((again.attempt, again.token), (2, FencingToken(3)));
}

#[test]
fn a_bad_payload_is_dropped_and_synthesized_again() {
    let gpu = life("gpu-1");
    let mut bench = Bench::shipped();
    let key = bench.assign(P0, PROVE, &gpu);
    bench.fail(&gpu, key, FailureKind::BadPayload);
    assert!(
        bench.has(
            |action| matches!(action, Action::DropPayload { payload } if payload.attempt == 1)
        )
    );
    assert!(bench.enqueues(P0, SYNTH));
    let unit = bench.job().unit(P0).unwrap();
    assert_eq!(unit.state(), PartitionState::Waiting);
    assert_eq!((unit.synth.failed, unit.prove.failed), (1, 0));
}

#[test]
fn started_attempts_that_fail_run_out_and_leave_a_dead_letter() {
    let mut bench = Bench::shipped();
    for attempt in 1..=MAX_FAILED_ATTEMPTS {
        assert!(!bench.job().state().is_terminal());
        let gpu = life("gpu-1");
        let key = bench.assign(P0, PROVE, &gpu);
        assert_eq!(key.attempt, attempt);
        bench.fail(&gpu, key, FailureKind::Attempt);
    }
    assert_eq!(bench.job().state(), JobState::Failed);
    assert!(bench.has(|action| matches!(
        action,
        Action::PutDeadLetter(letter) if letter.attempts == MAX_FAILED_ATTEMPTS
            && letter.cause.code == "some-code"
            && letter.last_worker.is_some()
            && letter.unit == P0
    )));
}

#[test]
fn losses_before_the_start_have_their_own_higher_limit_and_back_off() {
    let mut bench = Bench::planned(1);
    let mut waits = Vec::new();
    for _ in 0..MAX_LOST_ATTEMPTS {
        let synth = life("synth-1");
        let key = bench.assign(P0, SYNTH, &synth);
        bench.report(&synth, key, Report::Released);
        waits.extend(bench.actions.iter().filter_map(|action| match action {
            Action::Enqueue { not_before, .. } => Some(not_before.since(bench.now)),
            _ => None,
        }));
        bench.now = bench.now.plus(RETRY_BACKOFF_MAX);
    }
    assert_eq!(waits.first(), Some(&RETRY_BACKOFF_BASE));
    assert_eq!(waits.last(), Some(&RETRY_BACKOFF_MAX));
    assert!(waits.is_sorted());
    assert_eq!(bench.job().state(), JobState::Failed);
}

#[test]
fn an_input_at_fault_rejects_the_job_and_stops_everybody() {
    let (one, two) = (life("synth-1"), life("synth-2"));
    let mut bench = Bench::planned(2);
    let key = bench.assign(P0, SYNTH, &one);
    bench.assign(Unit::Partition(1), SYNTH, &two);
    bench.fail(&one, key, FailureKind::Rejected);
    assert_eq!(bench.job().state(), JobState::Rejected);
    assert_eq!(
        bench.job().record().failure.as_ref().unwrap().code,
        "some-code"
    );
    assert!(
        bench.has(|action| matches!(action, Action::CancelOn { worker } if *worker == two.worker))
    );
    assert_eq!(bench.token(Unit::Partition(1), SYNTH), 0);
    assert!(!bench.has(|action| matches!(action, Action::PutDeadLetter(_))));
}

#[test]
fn a_result_other_than_stated_rejects_the_job() {
    let mut bench = Bench::shipped();
    bench.store(P0, StoredResult::Proof);
    let mismatch = Some("output differs".to_owned());
    bench.store(Unit::Finish, StoredResult::Output { mismatch });
    assert_eq!(bench.job().state(), JobState::Rejected);
    let failure = bench.job().record().failure.as_ref().unwrap();
    assert_eq!(failure.code, "expectation-mismatch");
}

#[test]
fn events_that_no_longer_fit_change_nothing() {
    let (synth, gpu) = (life("synth-1"), life("gpu-1"));
    let mut bench = Bench::planned(1);
    let old = bench.assign(P0, SYNTH, &synth);
    let cause = LossCause::WorkerGone;
    bench.feed(JobEvent::AttemptLost { key: old, cause });
    bench.now = bench.now.plus(RETRY_BACKOFF_MAX);
    let key = bench.assign(P0, SYNTH, &synth);
    let stranger = life("synth-1");
    assert!(
        !bench.report(&synth, old, Report::Started { at: None }),
        "old token"
    );
    assert!(!bench.report(
        &synth,
        old,
        Report::Shipped {
            bytes: None,
            at: None
        }
    ));
    assert!(!bench.fail(&synth, old, FailureKind::Rejected));
    assert!(
        !bench.report(&stranger, key, Report::Started { at: None }),
        "other life"
    );
    assert!(
        !bench.store(Unit::Plan, StoredResult::Plan(plan(5))),
        "done"
    );
    assert!(!bench.store(Unit::Finish, StoredResult::Output { mismatch: None }));
    assert!(!bench.store(Unit::Partition(9), StoredResult::Proof));
    assert!(!bench.feed(JobEvent::Assigned {
        unit: P0,
        stage: PROVE,
        to: gpu.clone(),
    }));
    assert!(bench.has(|action| matches!(action, Action::Refuse { .. })));
    bench.feed(JobEvent::Cancel);
    let ended = bench.job().clone();
    for event in [JobEvent::Cancel, JobEvent::DeadlinePassed] {
        assert!(!bench.feed(event));
    }
    assert!(!bench.report(&synth, key, Report::Started { at: None }));
    assert_eq!(*bench.job(), ended);
}

#[test]
fn a_deadline_expires_only_when_it_is_past() {
    let mut bench = Bench::planned(1);
    assert!(!bench.feed(JobEvent::DeadlinePassed));
    bench.now = UnixMicros(10_000_000_000);
    assert!(bench.feed(JobEvent::DeadlinePassed));
    assert_eq!(bench.job().state(), JobState::Expired);
}

#[test]
fn a_proof_of_an_earlier_attempt_takes_the_later_one_back() {
    let gpu = life("gpu-2");
    let mut bench = Bench::shipped();
    let old = bench.assign(P0, PROVE, &life("gpu-1"));
    let cause = LossCause::WorkerGone;
    bench.feed(JobEvent::AttemptLost { key: old, cause });
    bench.now = bench.now.plus(RETRY_BACKOFF_MAX);
    let key = bench.assign(P0, PROVE, &gpu);
    bench.feed(JobEvent::Stored {
        unit: P0,
        token: Some(old.token),
        result: StoredResult::Proof,
    });
    assert!(
        bench.has(|action| matches!(action, Action::TakeBack { key: taken, .. } if *taken == key))
    );
    assert_eq!(bench.job().state(), JobState::Finishing);
}

#[test]
fn a_plan_without_partitions_rejects_the_job() {
    for count in [0, MAX_PARTITIONS + 1] {
        let mut bench = Bench::new();
        bench.assign(Unit::Plan, SYNTH, &life("synth-1"));
        bench.store(Unit::Plan, StoredResult::Plan(plan(count)));
        assert_eq!(bench.job().state(), JobState::Rejected);
    }
}

#[test]
fn a_job_reads_back_as_it_was_though_untouched_units_were_never_written() {
    let mut bench = Bench::planned(3);
    bench.assign(Unit::Partition(1), SYNTH, &life("synth-1"));
    let job = bench.job();
    let written = [Unit::Plan, Unit::Partition(1)];
    let units: BTreeMap<Unit, UnitRecord> = written
        .into_iter()
        .map(|unit| {
            let bytes = job.unit(unit).unwrap().encode().unwrap();
            (unit, UnitRecord::decode(&bytes).unwrap())
        })
        .collect();
    let record = JobRecord::decode(&job.record().encode().unwrap()).unwrap();
    let read = Job::from_records(record, units);
    assert_eq!(read, *job);
    let resumed = read.resume();
    assert_eq!(resumed.held.len(), 1);
    assert_eq!(resumed.actions.len(), 2);
}

#[test]
fn marks_ahead_of_the_record_stand_for_the_events_that_were_lost() {
    let synth = life("synth-1");
    let mut bench = Bench::planned(1);
    let key = bench.assign(P0, SYNTH, &synth);
    let marks = UnitMarks {
        synth_token: key.token,
        synth_started: key.token,
        shipped: key.token,
        ..UnitMarks::default()
    };
    for event in events_of_marks(bench.job(), P0, &marks) {
        assert!(bench.feed(event));
    }
    assert_eq!(
        bench.job().unit(P0).unwrap().state(),
        PartitionState::Shipped
    );
    assert_eq!(events_of_marks(bench.job(), P0, &marks), []);
}
