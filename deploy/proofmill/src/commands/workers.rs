//! `proofmill workers`: lists the workers that are alive.

use proofmill_coordinator::api::WorkersAnswer;
use proofmill_coordinator::view::WorkerView;

use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, table, word};

/// Lists workers.
pub(crate) async fn run(client: &Client, output: &Output) -> Result<Exit, CliError> {
    output.print(&client.workers().await?, text)?;
    Ok(Exit::Ok)
}

fn text(answer: &WorkersAnswer) -> String {
    if answer.workers.is_empty() {
        return "no workers: start `synth-worker` and `gpu-worker`, or `proofmill up`".to_owned();
    }
    let rows = answer.workers.iter().map(row);
    table(
        [
            "WORKER", "ROLE", "HOST", "BUSY", "PREFETCH", "RUNS ON", "STATE",
        ],
        rows,
    )
}

fn row(worker: &WorkerView) -> [String; 7] {
    let record = &worker.record;
    let runs_on = match &record.device {
        Some(device) => format!("{} ({})", device.name, device.backend),
        None => "cpu".to_owned(),
    };
    let state = if record.is_draining {
        "draining"
    } else {
        "ready"
    };
    [
        record.id.to_string(),
        word(&record.role),
        record.host.clone(),
        format!("{}/{}", worker.assigned, record.slots),
        record.prefetch.to_string(),
        runs_on,
        state.to_owned(),
    ]
}
