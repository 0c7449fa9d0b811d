//! `proofmill demo`: an embedded cluster proves files, and shows the waterfall.
//!
//! *Layout*: `progress` (bars while it works), `report` (what is printed).

mod progress;
mod report;

use std::path::{Path, PathBuf};
use std::time::Instant;

use bytes::Bytes;
use proofmill_shared::groth16::Store;
use proofmill_shared::protocol::CircuitId;
use proofmill_shared::telemetry::{Telemetry, TelemetryConfig};
use proofmill_synth_worker::circuit::CircuitRegistry;

use super::params;
use crate::cli::Demo;
use crate::embedded::{EmbeddedCluster, EmbeddedError, Input, Outcome, prove_all};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;
use crate::store;

/// The circuit of the demo.
const CIRCUIT: &str = "sha256";

/// What is proved when no file is named; it fills one partition.
const SAMPLE: &[u8] = b"Proofmill: synthesis on many cheap machines, proofs on few dear ones.\n";

/// Runs the demo.
pub(crate) fn run(args: &Demo, output: &Output) -> Result<Exit, CliError> {
    let inputs = read_inputs(&args.files)?;
    let store = store::open()?;
    let registry = CircuitRegistry::builtin();
    let circuit: CircuitId = CIRCUIT.parse().map_err(EmbeddedError::from)?;
    let program = registry.get(&circuit)?.clone();
    params::ensure(&program, &store, output)?;
    let telemetry = Telemetry::start(TelemetryConfig::from_env("proofmill", "demo"))
        .map_err(EmbeddedError::from)?;
    let started = Instant::now();
    let outcomes = prove(
        args, &inputs, &circuit, &store, registry, &telemetry, output,
    );
    telemetry.close();
    let result = report::Report::new(&outcomes?, &program, started.elapsed())?;
    output.print(&result, report::text)?;
    Ok(Exit::Ok)
}

fn prove(
    args: &Demo,
    inputs: &[Input],
    circuit: &CircuitId,
    store: &Store,
    registry: CircuitRegistry,
    telemetry: &Telemetry,
    output: &Output,
) -> Result<Vec<Outcome>, EmbeddedError> {
    let jobs = args.jobs.map_or(inputs.len(), |jobs| jobs as usize);
    actix::System::new().block_on(async {
        let cluster = EmbeddedCluster::start(args.size, store, registry, telemetry).await?;
        let progress =
            progress::Progress::start(cluster.coordinator().subscribe(), jobs, output.is_watched());
        let outcomes = prove_all(&cluster.coordinator(), circuit, inputs, jobs).await;
        progress.finish().await;
        cluster.stop().await;
        outcomes
    })
}

fn read_inputs(files: &[PathBuf]) -> Result<Vec<Input>, CliError> {
    if files.is_empty() {
        return Ok(vec![Input {
            name: "(sample text)".into(),
            bytes: Bytes::from_static(SAMPLE),
        }]);
    }
    let read = |path: &PathBuf| {
        let bytes = std::fs::read(path).map_err(|error| CliError::read(path, error))?;
        Ok(Input {
            name: display_name(path),
            bytes: bytes.into(),
        })
    };
    files.iter().map(read).collect()
}

fn display_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}
