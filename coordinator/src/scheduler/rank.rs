//! The order of ready units: priority, then deadline, then age.

use std::cmp::Reverse;

use proofmill_shared::protocol::{JobId, Unit, UnixMicros};

use super::UnitStage;
use crate::view::Priority;

/// How urgent a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Urgency {
    /// Priority.
    pub priority: Priority,
    /// Latest instant at which its result is of use.
    pub deadline: Option<UnixMicros>,
    /// When it was submitted.
    pub submitted_at: UnixMicros,
}

/// Place in a queue: the least goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    priority: Reverse<Priority>,
    deadline: UnixMicros,
    age: Age,
}

/// Place in the order of age: the oldest is least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Age {
    submitted_at: UnixMicros,
    job: JobId,
    unit: Unit,
}

impl Rank {
    pub(super) fn new(urgency: &Urgency, what: &UnitStage) -> Self {
        Self {
            priority: Reverse(urgency.priority),
            deadline: urgency.deadline.unwrap_or(UnixMicros(u64::MAX)),
            age: Age {
                submitted_at: urgency.submitted_at,
                job: what.job,
                unit: what.unit,
            },
        }
    }

    pub(super) const fn age(&self) -> Age {
        self.age
    }
}
