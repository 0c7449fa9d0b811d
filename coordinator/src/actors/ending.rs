//! How the coordinator ends, and how a panic in a part of it ends all of it.

use std::sync::Arc;

use actix::System;

use super::site::Site;

/// Exit code of a process whose coordinator panicked.
const PANIC_EXIT_CODE: i32 = 1;

/// Why a coordinator ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoordinatorEnd {
    /// It was asked to.
    Stopped,
    /// Another coordinator leads.
    Deposed,
    /// A part of it panicked.
    Panicked {
        /// Which part.
        part: &'static str,
    },
    /// The broker cannot be used.
    Broker {
        /// What it said.
        reason: String,
    },
}

/// Ends the process if whatever holds it is dropped by a panic: actix and tokio catch panics, and would leave a live
/// process with a dead part.
#[derive(Debug)]
pub(crate) struct Alarm {
    site: Arc<Site>,
    part: &'static str,
}

impl Alarm {
    pub(crate) const fn new(site: Arc<Site>, part: &'static str) -> Self {
        Self { site, part }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let part = self.part;
        tracing::error!(part, "panic, the process ends");
        self.site.finish(CoordinatorEnd::Panicked { part });
        if let Some(system) = System::try_current() {
            system.stop_with_code(PANIC_EXIT_CODE);
        }
    }
}
