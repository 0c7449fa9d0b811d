//! Tracing set-up of the binaries: people read stderr, machines read JSON.

use std::io::{self, IsTerminal};

use serde::{Deserialize, Serialize};
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::util::SubscriberInitExt;

/// Variable with filter directives such as `info,proofmill_coordinator=debug`.
pub const LOG_VARIABLE: &str = "PROOFMILL_LOG";

/// How a log line looks.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Human,
    /// One JSON object a line.
    Json,
}

/// Sends this process's log to stderr: filtered by [`LOG_VARIABLE`], else from `info` on. A directive that does not
/// read is reported on stderr and left; a closed stderr loses lines and nothing else. False if a subscriber was there
/// already, which then stays.
pub fn init(format: LogFormat) -> bool {
    init_from(format, LevelFilter::INFO)
}

/// As [`init`], with another level where [`LOG_VARIABLE`] is not set: commands that draw progress bars stay quiet.
pub fn init_from(format: LogFormat, default: LevelFilter) -> bool {
    let filter = EnvFilter::builder()
        .with_env_var(LOG_VARIABLE)
        .with_default_directive(default.into())
        .from_env_lossy();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        // It would report a failed write by a print that panics when stderr is closed.
        .log_internal_errors(false);
    match format {
        LogFormat::Json => builder.json().finish().try_init(),
        LogFormat::Human if io::stderr().is_terminal() => builder.finish().try_init(),
        LogFormat::Human => builder.with_ansi(false).finish().try_init(),
    }
    .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_set_up_leaves_the_first_in_place() {
        init(LogFormat::Human);
        assert!(!init(LogFormat::Json));
    }
}
