//! Where circuit code runs: on threads of its own, whose panics are one task's failure and nothing more.

use std::sync::OnceLock;
use std::thread;

use proofmill_shared::membership::contain;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::CircuitError;

/// Stack of a circuit thread in bytes: circuits recurse over what they prove, and an overflow cannot be contained.
const CIRCUIT_STACK_BYTES: usize = 16 << 20;

/// Runs circuit code, and whatever it does in parallel, on the circuit threads.
///
/// # Errors
/// The code's own; [`CircuitError::Panicked`] if it panicked; [`CircuitError::NoThreads`].
pub(super) fn contained<T: Send>(
    code: impl FnOnce() -> Result<T, CircuitError> + Send,
) -> Result<T, CircuitError> {
    static THREADS: OnceLock<Result<ThreadPool, ThreadPoolBuildError>> = OnceLock::new();
    let threads = THREADS
        .get_or_init(start_threads)
        .as_ref()
        .map_err(|error| CircuitError::NoThreads {
            reason: error.to_string(),
        })?;
    // The text of a panic may hold witness data: it stays out of the failure.
    threads
        .install(|| contain(code))
        .unwrap_or(Err(CircuitError::Panicked))
}

/// One thread a core. Each is contained for life: a panic in a parallel part happens on any of them, and is then handed
/// to whoever waits for that part.
fn start_threads() -> Result<ThreadPool, ThreadPoolBuildError> {
    let spawn = |thread: rayon::ThreadBuilder| {
        let name = format!("circuit-{}", thread.index());
        let run = move || {
            if contain(|| thread.run()).is_err() {
                tracing::error!("a circuit thread ended by a panic");
            }
        };
        let builder = thread::Builder::new()
            .name(name)
            .stack_size(CIRCUIT_STACK_BYTES);
        builder.spawn(run).map(drop)
    };
    ThreadPoolBuilder::new()
        .panic_handler(|_| tracing::warn!("a detached part of a circuit panicked"))
        .spawn_handler(spawn)
        .build()
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    fn explode(number: u32) -> Result<u32, CircuitError> {
        assert!(number < 1_000, "no such number");
        Ok(number)
    }

    #[test]
    fn a_panic_is_an_error_and_the_threads_go_on() {
        for _ in 0..100 {
            assert_eq!(contained(|| explode(1_000)), Err(CircuitError::Panicked));
        }
        assert_eq!(contained(|| explode(7)), Ok(7));
    }

    #[test]
    fn a_panic_in_a_parallel_part_is_an_error_too() {
        let sum = |limit: u32| contained(move || (0..limit).into_par_iter().map(explode).sum());
        assert_eq!(sum(1_001), Err(CircuitError::Panicked));
        assert_eq!(sum(1_000), Ok(499_500));
    }

    #[test]
    fn a_panic_in_a_detached_part_stays_there() {
        let detached = contained(|| {
            rayon::spawn(|| assert!(explode(1_000).is_ok()));
            Ok(())
        });
        assert_eq!(detached, Ok(()));
        assert_eq!(contained(|| explode(7)), Ok(7));
    }
}
