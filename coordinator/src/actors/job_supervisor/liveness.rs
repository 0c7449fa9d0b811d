//! Attempts that a live worker does not hold, or holds without progress. Pure.

use std::collections::HashMap;
use std::time::Duration;

use proofmill_shared::protocol::{HeldTask, UnixMicros, WorkerRecord};

use crate::job::LossCause;
use crate::scheduler::{Hold, UnitStage};

/// Time after an assignment in which its worker's heartbeat need not show it: the inbox is read at once, the heartbeat
/// is a second apart, and a look half a second more.
pub(super) const NOT_HELD_GRACE: Duration = Duration::from_secs(5);

/// What the heartbeats showed of each started attempt, and since when it stands still.
#[derive(Debug)]
pub(super) struct Liveness {
    stall_limit: Duration,
    progress: HashMap<UnitStage, (u64, UnixMicros)>,
}

impl Liveness {
    pub(super) fn new(stall_limit: Duration) -> Self {
        Self {
            stall_limit,
            progress: HashMap::new(),
        }
    }

    /// Forgets an attempt that is over.
    pub(super) fn forget(&mut self, what: &UnitStage) {
        self.progress.remove(what);
    }

    /// What is wrong with an attempt that a worker should hold, by its latest heartbeat.
    pub(super) fn finding(
        &mut self,
        record: &WorkerRecord,
        what: &UnitStage,
        hold: &Hold,
        now: UnixMicros,
    ) -> Option<LossCause> {
        if hold.incarnation != record.incarnation {
            return None;
        }
        let is_it = |held: &&HeldTask| {
            (held.key.job, held.key.unit, held.key.stage) == (what.job, what.unit, what.stage)
        };
        match record.held.iter().find(is_it) {
            None if now.since(hold.since) > NOT_HELD_GRACE => Some(LossCause::NotHeld),
            None => None,
            Some(held) if held.is_started => self.stall(what, held.progress, now),
            Some(_) => None,
        }
    }

    fn stall(&mut self, what: &UnitStage, progress: u64, now: UnixMicros) -> Option<LossCause> {
        let seen = self.progress.entry(*what).or_insert((progress, now));
        if seen.0 != progress {
            *seen = (progress, now);
        }
        (now.since(seen.1) > self.stall_limit).then_some(LossCause::NoProgress)
    }
}

#[cfg(test)]
mod tests {
    use proofmill_shared::protocol::{
        FencingToken, Incarnation, JobId, PROTOCOL_VERSION, Role, Stage, TaskKey, Unit, WorkerId,
    };

    use super::*;

    fn scene(held: Option<u64>) -> (WorkerRecord, UnitStage, Hold) {
        let what = UnitStage {
            job: JobId::generate(),
            unit: Unit::Partition(0),
            stage: Stage::Proving,
        };
        let key = TaskKey {
            job: what.job,
            unit: what.unit,
            stage: what.stage,
            attempt: 1,
            token: FencingToken(1),
        };
        let record = WorkerRecord {
            id: WorkerId::new("gpu").unwrap(),
            incarnation: Incarnation::generate(),
            role: Role::Gpu,
            protocol: PROTOCOL_VERSION,
            version: "0".into(),
            host: "host".into(),
            started_at: UnixMicros(0),
            slots: 1,
            prefetch: 1,
            circuits: Vec::new(),
            warm: Vec::new(),
            device: None,
            held: held
                .map(|progress| HeldTask {
                    key,
                    is_started: true,
                    progress,
                })
                .into_iter()
                .collect(),
            is_draining: false,
            needs_evaluations: false,
            clock_offset_micros: 0,
            clock_uncertainty_micros: 0,
        };
        let hold = Hold {
            worker: record.id.clone(),
            incarnation: record.incarnation,
            since: UnixMicros(0),
        };
        (record, what, hold)
    }

    fn at(time: Duration) -> UnixMicros {
        UnixMicros(1).plus(time)
    }

    #[test]
    fn an_attempt_that_is_not_held_is_lost_after_the_grace() {
        let mut liveness = Liveness::new(Duration::from_secs(60));
        let (record, what, hold) = scene(None);
        assert_eq!(
            liveness.finding(&record, &what, &hold, at(Duration::ZERO)),
            None
        );
        let late = at(NOT_HELD_GRACE);
        let found = liveness.finding(&record, &what, &hold, late);
        assert_eq!(found, Some(LossCause::NotHeld));
    }

    #[test]
    fn an_attempt_that_stands_still_is_lost_after_the_limit_and_progress_starts_it_anew() {
        let limit = Duration::from_secs(60);
        let mut liveness = Liveness::new(limit);
        let (mut record, what, hold) = scene(Some(1));
        assert_eq!(
            liveness.finding(&record, &what, &hold, at(Duration::ZERO)),
            None
        );
        record.held[0].progress = 2;
        assert_eq!(liveness.finding(&record, &what, &hold, at(limit)), None);
        assert_eq!(liveness.finding(&record, &what, &hold, at(limit * 2)), None);
        let late = at(limit * 2).plus(Duration::from_secs(1));
        let found = liveness.finding(&record, &what, &hold, late);
        assert_eq!(found, Some(LossCause::NoProgress));
    }

    #[test]
    fn another_life_of_the_worker_says_nothing() {
        let mut liveness = Liveness::new(Duration::from_secs(60));
        let (record, what, mut hold) = scene(None);
        hold.incarnation = Incarnation::generate();
        let late = at(NOT_HELD_GRACE * 2);
        assert_eq!(liveness.finding(&record, &what, &hold, late), None);
    }
}
