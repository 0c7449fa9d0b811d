//! The timed steps of a proof, and who watches them.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use proofmill_shared::telemetry::spans::names;

use super::ProveError;

/// A timed piece of proving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Upload of the witness, a = A·w, b = B·w.
    Evaluate,
    /// The transforms, up to the coefficients of h.
    Ntt,
    /// Σ hᵢ·h_queryᵢ.
    MsmH,
    /// Σ auxᵢ·l_queryᵢ.
    MsmL,
    /// Σ wᵢ·a_queryᵢ.
    MsmA,
    /// Σ wᵢ·b_g1_queryᵢ.
    MsmBG1,
    /// Σ wᵢ·b_g2_queryᵢ.
    MsmBG2,
    /// The proof is put together.
    Assemble,
    /// The proof is verified.
    Verify,
}

impl Step {
    /// All steps, in the order in which they begin on the CPU.
    pub const ALL: [Self; 9] = [
        Self::Evaluate,
        Self::Ntt,
        Self::MsmBG2,
        Self::MsmH,
        Self::MsmL,
        Self::MsmA,
        Self::MsmBG1,
        Self::Assemble,
        Self::Verify,
    ];

    /// Name of the step's span.
    #[must_use]
    pub const fn span_name(self) -> &'static str {
        match self {
            Self::Evaluate => names::GPU_EVALUATE,
            Self::Ntt => names::GPU_NTT,
            Self::MsmH => names::GPU_MSM_H,
            Self::MsmL => names::GPU_MSM_L,
            Self::MsmA => names::GPU_MSM_A,
            Self::MsmBG1 => names::GPU_MSM_B_G1,
            Self::MsmBG2 => names::GPU_MSM_B_G2,
            Self::Assemble => names::GPU_ASSEMBLE,
            Self::Verify => names::PROOF_VERIFY,
        }
    }
}

/// Watches a proof being made, and may stop it. Called from any thread of the device.
pub trait StepObserver: Sync {
    /// A step ended. Multiplications may overlap each other.
    fn step_ended(&self, _step: Step, _started: Instant, _ended: Instant) {}

    /// Whether to give up; asked between steps, and within multiplications often enough to stop within a second.
    fn should_stop(&self) -> bool {
        false
    }
}

/// Watches nothing and stops nothing.
impl StepObserver for () {}

/// The proof is no longer wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

impl From<Cancelled> for ProveError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Runs one step under the eyes of an observer.
pub(super) fn observed<T>(
    observer: &dyn StepObserver,
    step: Step,
    run: impl FnOnce() -> Result<T, ProveError>,
) -> Result<T, ProveError> {
    if observer.should_stop() {
        return Err(ProveError::Cancelled);
    }
    let started = Instant::now();
    let result = run()?;
    observer.step_ended(step, started, Instant::now());
    Ok(result)
}

/// When a step ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepTime {
    /// The step.
    pub step: Step,
    /// When it started.
    pub started: Instant,
    /// When it ended.
    pub ended: Instant,
}

impl StepTime {
    /// How long it took.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.ended.saturating_duration_since(self.started)
    }
}

/// Keeps the times of all steps.
#[derive(Debug, Default)]
pub struct StepTimes(Mutex<Vec<StepTime>>);

impl StepTimes {
    /// The steps that ended so far, in the order in which they ended.
    #[must_use]
    pub fn take(&self) -> Vec<StepTime> {
        std::mem::take(&mut self.0.lock())
    }
}

impl StepObserver for StepTimes {
    fn step_ended(&self, step: Step, started: Instant, ended: Instant) {
        self.0.lock().push(StepTime {
            step,
            started,
            ended,
        });
    }
}
