//! Tracing set-up of the binaries: people read stderr, machines read JSON.

use std::io::{self, IsTerminal};

use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LogFormat {
    /// For people: one line of text.
    #[default]
    Text,
    /// For programs: one JSON object a line.
    Json,
}

/// Sends this process's log to stderr, filtered by directives such as `info,proofmill_coordinator=debug`. A directive
/// that does not read is reported on stderr and left; a closed stderr loses lines and nothing else. False if a
/// subscriber was there already, which then stays.
pub fn init(directives: &str, format: LogFormat) -> bool {
    let filter = EnvFilter::builder().parse_lossy(directives);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        // It would report a failed write by a print that panics when stderr is closed.
        .log_internal_errors(false);
    match format {
        LogFormat::Json => builder.json().finish().try_init(),
        LogFormat::Text if io::stderr().is_terminal() => builder.finish().try_init(),
        LogFormat::Text => builder.with_ansi(false).finish().try_init(),
    }
    .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_set_up_leaves_the_first_in_place() {
        init("info", LogFormat::Text);
        assert!(!init("info", LogFormat::Json));
    }
}
