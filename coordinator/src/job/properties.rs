//! Random histories: duplicates, losses, reordering and stale tokens, and what must hold after each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proofmill_shared::protocol::{
    FailureKind, FencingToken, Stage, TaskFailure, TaskKey, Unit, UnixMicros,
};
use proptest::prelude::*;

use super::tests::{job_record, life, plan};
use super::*;
use crate::view::JobState;

const PARTITIONS: u32 = 2;
const STAGES: [Stage; 2] = [Stage::Synthesis, Stage::Proving];

/// One random happening; the numbers choose among what there is.
#[derive(Debug, Clone)]
enum Happening {
    Assign(usize, usize),
    Report(usize, u8),
    Stored(Unit),
    Lost(usize, u8),
    Cancel,
    Deadline,
}

fn happening() -> impl Strategy<Value = Happening> {
    let unit = prop_oneof![
        Just(Unit::Plan),
        (0..=PARTITIONS).prop_map(Unit::Partition),
        Just(Unit::Finish)
    ];
    prop_oneof![
        12 => (any::<usize>(), 0..3usize).prop_map(|(unit, to)| Happening::Assign(unit, to)),
        12 => (any::<usize>(), 0..8u8).prop_map(|(key, what)| Happening::Report(key, what)),
        5 => unit.prop_map(Happening::Stored),
        3 => (any::<usize>(), 0..4u8).prop_map(|(key, how)| Happening::Lost(key, how)),
        1 => Just(Happening::Cancel),
        1 => Just(Happening::Deadline),
    ]
}

/// What stands around the job: the queue, the credits that are out, and all keys ever granted.
struct World {
    job: Option<Job>,
    now: UnixMicros,
    queue: BTreeSet<(Unit, Stage)>,
    credits: BTreeSet<(Unit, Stage)>,
    granted: Vec<(TaskKey, WorkerLife)>,
    lives: Vec<WorkerLife>,
    proofs: BTreeMap<u32, u32>,
    tokens: BTreeMap<Unit, FencingToken>,
    /// Unit records as commits would have written them.
    written: BTreeMap<Unit, UnitRecord>,
}

impl World {
    fn new() -> Self {
        let accepted = accept(job_record());
        let mut world = Self {
            job: Some(accepted.job),
            now: UnixMicros(5_000),
            queue: BTreeSet::new(),
            credits: BTreeSet::new(),
            granted: Vec::new(),
            lives: ["a", "b", "c"].map(life).into(),
            proofs: BTreeMap::new(),
            tokens: BTreeMap::new(),
            written: BTreeMap::new(),
        };
        world.perform(accepted.actions);
        world
    }

    fn job(&self) -> &Job {
        self.job.as_ref().expect("a job is always put back")
    }

    fn happen(&mut self, happening: &Happening) {
        self.now = self.now.plus(Duration::from_secs(11));
        let Some(event) = self.event(happening) else {
            return;
        };
        let before = self.job().clone();
        let done = transition(self.job.take().expect("a job"), event, self.now);
        self.job = Some(done.job);
        if before.state().is_terminal() {
            assert_eq!(before, *self.job(), "a terminal state is never left");
        }
        if !done.is_changed {
            assert_eq!(before, *self.job(), "what changed is said to have changed");
        }
        for (unit, record) in before.units() {
            let after = self.job().unit(unit).expect("units never go");
            assert!(
                record == after || done.changed.contains(&unit),
                "{unit} changed unsaid"
            );
            assert!(!record.is_done || after.is_done, "a done unit stays done");
        }
        for unit in done.changed {
            let record = self.job().unit(unit).expect("a changed unit is there");
            let bytes = record.encode().expect("a record encodes");
            let read = UnitRecord::decode(&bytes).expect("a record reads back");
            self.written.insert(unit, read);
        }
        self.perform(done.actions);
        self.check();
    }

    fn event(&mut self, happening: &Happening) -> Option<JobEvent> {
        let pick = |of: usize, from: usize| (of > 0).then(|| from % of);
        Some(match *happening {
            Happening::Assign(which, to) => {
                let at = pick(self.queue.len(), which)?;
                let slot = *self.queue.iter().nth(at)?;
                self.queue.remove(&slot);
                self.credits.insert(slot);
                let (unit, stage) = slot;
                let to = self.lives[to].clone();
                JobEvent::Assigned { unit, stage, to }
            }
            Happening::Report(which, what) => {
                let (key, by) = self.granted[pick(self.granted.len(), which)?].clone();
                let failure = |kind| Report::Failed(TaskFailure::new(kind, "code", "text"));
                let report = match what {
                    0 | 1 => Report::Started { at: None },
                    2 => Report::Sending {
                        shape: plan(1).shape,
                    },
                    3 | 4 => Report::Shipped {
                        bytes: None,
                        at: None,
                    },
                    5 => failure(FailureKind::Attempt),
                    6 => failure(FailureKind::BadPayload),
                    _ => Report::Released,
                };
                let by = Some(by);
                JobEvent::Reported { by, key, report }
            }
            Happening::Stored(unit) => JobEvent::Stored {
                unit,
                token: None,
                result: match unit {
                    Unit::Plan => StoredResult::Plan(plan(PARTITIONS)),
                    Unit::Partition(_) => StoredResult::Proof,
                    Unit::Finish => StoredResult::Output { mismatch: None },
                },
            },
            Happening::Lost(which, how) => {
                let (key, _) = self.granted[pick(self.granted.len(), which)?].clone();
                let causes = [
                    LossCause::WorkerGone,
                    LossCause::WorkerRestarted,
                    LossCause::NotHeld,
                    LossCause::NoProgress,
                ];
                let cause = causes[usize::from(how)];
                JobEvent::AttemptLost { key, cause }
            }
            Happening::Cancel => JobEvent::Cancel,
            Happening::Deadline => JobEvent::DeadlinePassed,
        })
    }

    fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Enqueue { unit, stage, .. } => {
                    assert!(
                        self.queue.insert((unit, stage)),
                        "{unit} {stage} queued twice"
                    );
                }
                Action::Dequeue { unit, stage } => {
                    self.queue.remove(&(unit, stage));
                }
                Action::Release { unit, stage } | Action::Refuse { unit, stage } => {
                    assert!(
                        self.credits.remove(&(unit, stage)),
                        "{unit} {stage} had no credit out"
                    );
                }
                Action::Post { worker, task } => {
                    let key = *task.key();
                    let last = self.tokens.insert(key.unit, key.token);
                    assert!(last < Some(key.token), "tokens only grow");
                    let life = self.lives.iter().find(|life| life.worker == worker);
                    self.granted
                        .push((key, life.expect("a known worker").clone()));
                }
                Action::ProofStored { partition, .. } => {
                    *self.proofs.entry(partition).or_default() += 1;
                }
                Action::TakeBack { key, .. } => assert!(
                    self.granted.iter().any(|(granted, _)| *granted == key),
                    "what is taken back was granted"
                ),
                Action::CancelOn { .. }
                | Action::PayloadShipped { .. }
                | Action::ProvingBegan { .. }
                | Action::DropPayload { .. }
                | Action::PutDeadLetter(_)
                | Action::Record(_)
                | Action::Waited { .. }
                | Action::Announce => {}
            }
        }
    }

    fn check(&self) {
        let job = self.job();
        assert!(self.proofs.values().all(|count| *count == 1), "one proof");
        if job.state().is_terminal() {
            assert!(self.credits.is_empty() && self.queue.is_empty());
            assert_eq!(job.live_attempts().count(), 0, "nothing is accepted");
            return;
        }
        for (unit, record) in job.units() {
            for stage in STAGES {
                let state = record.stage(stage);
                let is_out = self.credits.contains(&(unit, stage));
                assert_eq!(is_out, state.live.is_some(), "{unit} {stage} credit");
                let is_queued = self.queue.contains(&(unit, stage));
                let is_ready = state.ready_at.is_some();
                assert_eq!(is_queued, is_ready, "{unit} {stage} queue");
                assert!(!(is_queued && is_out), "{unit} {stage} twice");
            }
            assert!(
                record.payload.is_none() || record.synth.live.is_none(),
                "{unit} synthesizes what is shipped"
            );
        }
        let moves = |unit: &UnitRecord| {
            STAGES.iter().any(|stage| {
                unit.stage(*stage).live.is_some() || unit.stage(*stage).ready_at.is_some()
            })
        };
        for (unit, record) in job.units() {
            let is_due = match unit {
                Unit::Finish => job.state() == JobState::Finishing,
                Unit::Plan | Unit::Partition(_) => true,
            };
            assert_eq!(
                moves(record),
                is_due && !record.is_done,
                "{unit} has something that moves it exactly while it is due"
            );
            let is_provable = record.payload.is_some();
            let is_offered = record.prove.live.is_some() || record.prove.ready_at.is_some();
            assert!(!is_provable || is_offered, "{unit} is shipped and offered");
            assert!(
                !is_offered || record.provable_payload().is_some(),
                "{unit} is offered with something to prove"
            );
        }
    }

    /// Lets every attempt succeed until the job ends.
    fn drive_home(&mut self) {
        for _ in 0..1_000 {
            if self.job().state().is_terminal() {
                return;
            }
            if !self.queue.is_empty() {
                self.happen(&Happening::Assign(0, 0));
                continue;
            }
            let (key, _) = self.job().live_attempts().next().expect("a live attempt");
            if matches!(
                (key.unit, key.stage),
                (Unit::Partition(_), Stage::Synthesis)
            ) {
                let at = self.granted.iter().position(|(granted, _)| *granted == key);
                self.happen(&Happening::Report(at.expect("granted"), 3));
            } else {
                self.happen(&Happening::Stored(key.unit));
            }
        }
        panic!("the job does not end: {:?}", self.job());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_history_keeps_the_invariants_and_can_be_driven_home(
        history in prop::collection::vec(happening(), 0..60)
    ) {
        let mut world = World::new();
        for happening in &history {
            world.happen(happening);
        }
        world.drive_home();
        prop_assert!(world.job().state().is_terminal());
        prop_assert!(world.credits.is_empty() && world.queue.is_empty());
    }

    #[test]
    fn a_job_that_is_read_back_at_any_point_is_the_same_job(
        history in prop::collection::vec(happening(), 0..40)
    ) {
        let mut world = World::new();
        for happening in &history {
            world.happen(happening);
            let record = JobRecord::decode(&world.job().record().encode().unwrap()).unwrap();
            let read = Job::from_records(record, world.written.clone());
            prop_assert_eq!(&read, world.job());
        }
    }
}
