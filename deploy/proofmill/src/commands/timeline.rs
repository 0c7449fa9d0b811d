//! `proofmill timeline`: draws what happened to a job as a waterfall.

use proofmill_shared::telemetry::{WaterfallOptions, render_waterfall};

use crate::cli::Timeline;
use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, plain, terminal_width};

/// Rows of partitions drawn at most: a few screens; `--json` has everything.
const ROWS_MAX: usize = 100;

/// Draws a job's waterfall.
pub(crate) async fn run(
    client: &Client,
    args: &Timeline,
    output: &Output,
) -> Result<Exit, CliError> {
    let answer = client.timeline(args.id).await?;
    output.print(&answer, |answer| {
        let options = WaterfallOptions {
            width: terminal_width().unwrap_or(WaterfallOptions::default().width),
            is_coloured: false,
            max_rows: ROWS_MAX,
        };
        plain(&render_waterfall(&answer.records, options))
    })?;
    Ok(Exit::Ok)
}
