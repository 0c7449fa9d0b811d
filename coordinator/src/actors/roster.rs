//! Who is there and who is lost, from one look at the heartbeats to the next. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use proofmill_shared::protocol::{Incarnation, PROTOCOL_VERSION, WorkerId, WorkerRecord};

use crate::job::{LossCause, WorkerLife};

/// Looks at the heartbeats that a worker may be missing from before it is lost. The heartbeat's own expiry is what
/// counts; the second look tells it from a broker that just came back without its volatile keys.
pub(super) const LOOKS_UNTIL_LOST: u32 = 2;

/// Looks after the broker was away in which a missing heartbeat says nothing: it may have come back without its volatile
/// keys, and the workers have yet to notice that it is back.
pub(super) const LOOKS_AFTER_OUTAGE: u32 = 8;

/// Looks after which a lost worker's inbox is removed: about ten minutes, in which a frozen one may still come back and
/// find its streams.
pub(super) const LOOKS_UNTIL_FORGOTTEN: u32 = 1_200;

/// A life of a worker that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LostLife {
    /// Whose.
    pub(crate) life: WorkerLife,
    /// How it ended.
    pub(crate) cause: LossCause,
}

/// What one look showed.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// Workers that are there and can be assigned to.
    pub(crate) live: Vec<Arc<WorkerRecord>>,
    /// Lives that are over.
    pub(crate) lost: Vec<LostLife>,
    /// Workers seen for the first time in their present life.
    pub(crate) joined: Vec<WorkerId>,
    /// Workers that were lost long ago: their streams are of no use any more.
    pub(crate) forgotten: Vec<WorkerId>,
}

#[derive(Debug)]
struct Seat {
    incarnation: Incarnation,
    missed: u32,
}

/// The workers that are known, by name.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    seats: BTreeMap<WorkerId, Seat>,
    /// Looks in which nobody is missed.
    indulgent: u32,
    /// Lost workers, with the looks since.
    gone: BTreeMap<WorkerId, u32>,
}

impl Roster {
    /// Counts on a worker that holds attempts according to a job that was read back: if no look shows it, it is lost.
    pub(crate) fn expect(&mut self, life: WorkerLife) {
        self.seats.entry(life.worker).or_insert(Seat {
            incarnation: life.incarnation,
            missed: 0,
        });
    }

    /// The broker does not answer: that says nothing about the workers, nor will the first looks after it.
    pub(crate) fn broker_is_away(&mut self) {
        self.indulgent = LOOKS_AFTER_OUTAGE;
    }

    /// Takes in what the heartbeats show now.
    pub(crate) fn look(&mut self, records: Vec<WorkerRecord>) -> Look {
        let mut look = Look::default();
        if self.indulgent > 0 {
            self.indulgent -= 1;
        } else {
            for seat in self.seats.values_mut() {
                seat.missed += 1;
            }
        }
        for record in records {
            if !speaks_our_protocol(record.protocol) {
                continue;
            }
            self.seat(&record, &mut look);
            look.live.push(Arc::new(record));
        }
        self.seats.retain(|worker, seat| {
            let is_lost = seat.missed >= LOOKS_UNTIL_LOST;
            if is_lost {
                self.gone.insert(worker.clone(), 0);
                look.lost.push(LostLife {
                    life: WorkerLife {
                        worker: worker.clone(),
                        incarnation: seat.incarnation,
                    },
                    cause: LossCause::WorkerGone,
                });
            }
            !is_lost
        });
        self.gone.retain(|worker, looks| {
            *looks += 1;
            let is_forgotten = *looks >= LOOKS_UNTIL_FORGOTTEN;
            if is_forgotten {
                look.forgotten.push(worker.clone());
            }
            !is_forgotten
        });
        look
    }

    fn seat(&mut self, record: &WorkerRecord, look: &mut Look) {
        let seat = Seat {
            incarnation: record.incarnation,
            missed: 0,
        };
        self.gone.remove(&record.id);
        match self.seats.insert(record.id.clone(), seat) {
            None => look.joined.push(record.id.clone()),
            Some(before) if before.incarnation != record.incarnation => {
                look.joined.push(record.id.clone());
                look.lost.push(LostLife {
                    life: WorkerLife {
                        worker: record.id.clone(),
                        incarnation: before.incarnation,
                    },
                    cause: LossCause::WorkerRestarted,
                });
            }
            Some(_) => {}
        }
    }
}

/// This version and the one before work together.
const fn speaks_our_protocol(protocol: u16) -> bool {
    protocol != 0 && protocol <= PROTOCOL_VERSION && protocol + 1 >= PROTOCOL_VERSION
}

#[cfg(test)]
mod tests {
    use proofmill_shared::protocol::{Role, UnixMicros};

    use super::*;

    fn record(name: &str) -> WorkerRecord {
        WorkerRecord {
            id: WorkerId::new(name).unwrap(),
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
            held: Vec::new(),
            is_draining: false,
            needs_evaluations: false,
            clock_offset_micros: 0,
            clock_uncertainty_micros: 0,
        }
    }

    fn life(record: &WorkerRecord) -> WorkerLife {
        WorkerLife {
            worker: record.id.clone(),
            incarnation: record.incarnation,
        }
    }

    #[test]
    fn a_worker_joins_once_and_is_lost_once() {
        let (mut roster, gpu) = (Roster::default(), record("gpu"));
        assert_eq!(roster.look(vec![gpu.clone()]).joined.len(), 1);
        assert_eq!(roster.look(vec![gpu.clone()]).joined.len(), 0);
        for _ in 1..LOOKS_UNTIL_LOST {
            assert_eq!(roster.look(Vec::new()).lost, []);
        }
        let lost = roster.look(Vec::new()).lost;
        assert_eq!(lost.len(), 1);
        assert_eq!(lost[0].life, life(&gpu));
        assert_eq!(roster.look(Vec::new()).lost, []);
    }

    #[test]
    fn a_restarted_worker_loses_its_old_life_at_once() {
        let (mut roster, old, new) = (Roster::default(), record("gpu"), record("gpu"));
        roster.look(vec![old.clone()]);
        let look = roster.look(vec![new]);
        assert_eq!(look.lost.len(), 1);
        assert_eq!(look.lost[0].life, life(&old));
        assert_eq!(look.lost[0].cause, LossCause::WorkerRestarted);
        assert_eq!(look.live.len(), 1);
    }

    #[test]
    fn a_worker_that_should_be_there_and_never_shows_is_lost() {
        let (mut roster, gpu) = (Roster::default(), record("gpu"));
        roster.expect(life(&gpu));
        let lost: usize = (0..LOOKS_UNTIL_LOST)
            .map(|_| roster.look(Vec::new()).lost.len())
            .sum();
        assert_eq!(lost, 1);
    }

    #[test]
    fn nobody_is_missed_right_after_the_broker_was_away() {
        let (mut roster, gpu) = (Roster::default(), record("gpu"));
        roster.look(vec![gpu]);
        roster.broker_is_away();
        for _ in 0..LOOKS_AFTER_OUTAGE + LOOKS_UNTIL_LOST - 1 {
            assert_eq!(roster.look(Vec::new()).lost, []);
        }
        assert_eq!(roster.look(Vec::new()).lost.len(), 1);
    }

    #[test]
    fn a_worker_is_forgotten_long_after_it_was_lost_unless_it_comes_back() {
        let (mut roster, gpu) = (Roster::default(), record("gpu"));
        for comes_back in [true, false] {
            roster.look(vec![gpu.clone()]);
            let looks = LOOKS_UNTIL_LOST + LOOKS_UNTIL_FORGOTTEN;
            let until = if comes_back { looks / 2 } else { looks };
            let forgotten: usize = (0..until)
                .map(|_| roster.look(Vec::new()).forgotten.len())
                .sum();
            assert_eq!(forgotten, usize::from(!comes_back));
        }
    }

    #[test]
    fn a_worker_of_another_protocol_is_not_assigned_to() {
        let mut stranger = record("gpu");
        stranger.protocol = PROTOCOL_VERSION + 1;
        assert_eq!(Roster::default().look(vec![stranger]).live.len(), 0);
    }
}
