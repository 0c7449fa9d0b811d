//! `proofmill demo`: an embedded cluster proves files, and shows the waterfall.
//!
//! *Layout*: `error` (why it fails), `progress` (bars while it works), `report` (what is printed).

mod error;
mod progress;
mod report;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use proofmill_coordinator::handle::CoordinatorHandle;
use proofmill_coordinator::view::{JobProof, JobRequest, JobState, Priority};
use proofmill_shared::groth16::Store;
use proofmill_shared::protocol::{CircuitId, JobId};
use proofmill_shared::telemetry::{Telemetry, TelemetryConfig, TimelineRecord};
use proofmill_synth_worker::circuit::CircuitRegistry;

pub(crate) use self::error::DemoError;
use super::params;
use crate::cli::Demo;
use crate::embedded::EmbeddedCluster;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;
use crate::store;

/// The circuit of the demo.
const CIRCUIT: &str = "sha256";

/// What is proved when no file is named; it fills one partition.
const SAMPLE: &[u8] = b"Proofmill: synthesis on many cheap machines, proofs on few dear ones.\n";

/// Longest a demo waits for one job.
const JOB_LIMIT: Duration = Duration::from_secs(3600);

/// One input of the demo.
#[derive(Debug, Clone)]
struct Input {
    name: String,
    bytes: Bytes,
}

/// One job that ended well.
#[derive(Debug)]
struct Outcome {
    input: Input,
    job: JobId,
    proof: JobProof,
    timeline: Vec<TimelineRecord>,
}

/// Runs the demo.
pub(crate) fn run(args: &Demo, output: &Output) -> Result<Exit, CliError> {
    let inputs = read_inputs(&args.files)?;
    let store = store::open()?;
    let registry = CircuitRegistry::builtin();
    let circuit: CircuitId = CIRCUIT.parse().map_err(DemoError::from)?;
    let program = registry.get(&circuit)?.clone();
    params::ensure(&program, &store, output)?;
    let telemetry = Telemetry::start(TelemetryConfig::from_env("proofmill", "demo"))
        .map_err(DemoError::from)?;
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
) -> Result<Vec<Outcome>, DemoError> {
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

async fn prove_all(
    coordinator: &CoordinatorHandle,
    circuit: &CircuitId,
    inputs: &[Input],
    jobs: usize,
) -> Result<Vec<Outcome>, DemoError> {
    let mut submitted: Vec<(Input, JobId)> = Vec::new();
    for input in inputs.iter().cycle().take(jobs) {
        let request = JobRequest {
            circuit: circuit.clone(),
            input: input.bytes.clone(),
            priority: Priority::Normal,
            deadline: None,
            expect: None,
            idempotency_key: None,
            traceparent: None,
            retry_of: None,
        };
        submitted.push((input.clone(), coordinator.submit(request).await?.view.id));
    }
    let mut outcomes = Vec::new();
    for (input, job) in submitted {
        let view = coordinator.wait(job, JOB_LIMIT).await?;
        if view.state != JobState::Succeeded {
            let reason = view
                .failure
                .map_or_else(|| format!("{:?}", view.state), |failure| failure.message);
            return Err(DemoError::NotProved {
                name: input.name,
                job,
                state: view.state,
                reason,
            });
        }
        let (proof, timeline) = (
            coordinator.proof(job).await?,
            coordinator.timeline(job).await?,
        );
        outcomes.push(Outcome {
            input,
            job,
            proof,
            timeline,
        });
    }
    Ok(outcomes)
}
