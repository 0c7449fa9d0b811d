//! Several multiplications computed by all threads from one queue, so that none waits for the last piece of another.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use super::msm::Pieces;
use crate::prover::{Cancelled, Step, StepObserver};

/// A multiplication in the queue.
pub(super) struct Queued<'a> {
    pub(super) step: Step,
    pub(super) pieces: &'a dyn Pieces,
}

struct Progress {
    started: OnceLock<Instant>,
    remaining: AtomicUsize,
}

/// Computes all pieces, in order, on every thread of the current pool. Steps overlap where one runs out of pieces.
///
/// # Errors
/// [`Cancelled`] if the observer asked to stop; that is looked at before every piece.
pub(super) fn compute_all(
    queued: &[Queued<'_>],
    observer: &dyn StepObserver,
) -> Result<(), Cancelled> {
    let order: Vec<_> = queued
        .iter()
        .enumerate()
        .flat_map(|(msm, queued)| (0..queued.pieces.len()).map(move |piece| (msm, piece)))
        .collect();
    let progress: Vec<_> = queued
        .iter()
        .map(|queued| Progress {
            started: OnceLock::new(),
            remaining: AtomicUsize::new(queued.pieces.len()),
        })
        .collect();
    for queued in queued.iter().filter(|queued| queued.pieces.len() == 0) {
        let now = Instant::now();
        observer.step_ended(queued.step, now, now);
    }
    let next = AtomicUsize::new(0);
    let is_stopped = AtomicBool::new(false);
    rayon::broadcast(|_| {
        while let Some((msm, piece)) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            if is_stopped.load(Ordering::Relaxed) || observer.should_stop() {
                is_stopped.store(true, Ordering::Relaxed);
                return;
            }
            let started = *progress[*msm].started.get_or_init(Instant::now);
            queued[*msm].pieces.compute(*piece);
            if progress[*msm].remaining.fetch_sub(1, Ordering::AcqRel) == 1 {
                observer.step_ended(queued[*msm].step, started, Instant::now());
            }
        }
    });
    if is_stopped.into_inner() {
        return Err(Cancelled);
    }
    Ok(())
}
