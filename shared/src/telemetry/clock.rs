//! The cluster's clock in this process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::RwLock;

use crate::protocol::UnixMicros;

/// Cluster time (Redis `TIME`) anchored to this process's monotonic clock: a step of the wall clock changes nothing.
///
/// Cheap to clone; all clones share the anchor.
#[derive(Debug, Clone)]
pub struct ClusterClock {
    anchor: Arc<RwLock<Anchor>>,
}

#[derive(Debug, Clone, Copy)]
struct Anchor {
    instant: Instant,
    cluster: UnixMicros,
    uncertainty: Duration,
    wall_offset_micros: i64,
}

impl ClusterClock {
    /// Makes a clock that reads `cluster` now, give or take `uncertainty`; `wall_offset_micros` is what the local wall
    /// clock showed above it, for the record.
    #[must_use]
    pub fn anchored(cluster: UnixMicros, uncertainty: Duration, wall_offset_micros: i64) -> Self {
        let anchor = Anchor {
            instant: Instant::now(),
            cluster,
            uncertainty,
            wall_offset_micros,
        };
        Self {
            anchor: Arc::new(RwLock::new(anchor)),
        }
    }

    /// The cluster's time now.
    #[must_use]
    pub fn now(&self) -> UnixMicros {
        self.at(Instant::now())
    }

    /// The cluster's time at an instant of this process.
    #[must_use]
    pub fn at(&self, instant: Instant) -> UnixMicros {
        let anchor = *self.anchor.read();
        match instant.checked_duration_since(anchor.instant) {
            Some(later) => anchor.cluster.plus(later),
            None => {
                let earlier = anchor.instant.duration_since(instant).as_micros();
                UnixMicros(
                    anchor
                        .cluster
                        .0
                        .saturating_sub(u64::try_from(earlier).unwrap_or(u64::MAX)),
                )
            }
        }
    }

    /// Half the round trip of the measurement behind the anchor.
    #[must_use]
    pub fn uncertainty(&self) -> Duration {
        self.anchor.read().uncertainty
    }

    /// Local wall clock minus cluster clock when the anchor was set, microseconds.
    #[must_use]
    pub fn wall_offset_micros(&self) -> i64 {
        self.anchor.read().wall_offset_micros
    }
}
