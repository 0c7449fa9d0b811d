//! `proofmill bench cluster`: jobs through the embedded cluster, against the same proofs made in a loop.
//!
//! The loop computes a witness, proves, and begins again: no broker, no codec, no check of the constraints. Rounds of the
//! two alternate, so that a slower minute of the machine falls on both. What the cluster adds and what it hides behind the
//! device is the ratio of their throughputs.

use std::time::{Duration, Instant};

use clap::Args;
use proofmill_gpu_worker::device::{Device, DeviceChoice};
use proofmill_gpu_worker::prover::BlindingFactors;
use proofmill_shared::groth16::Store;
use proofmill_shared::protocol::CircuitId;
use proofmill_shared::telemetry::utilisation::{Utilisation, UtilisationOptions, WindowStart};
use proofmill_shared::telemetry::{Telemetry, TelemetryConfig};
use proofmill_synth_worker::circuit::{CircuitRegistry, RegisteredCircuit};
use rand::rngs::OsRng;
use serde::Serialize;

use super::super::params;
use super::{inputs, median, open_device};
use crate::embedded::{EmbeddedCluster, EmbeddedError, Input, Size, prove_all};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, table};
use crate::store;

/// Most jobs of one round: every job is held in memory.
const JOBS_MAX: i64 = 10_000;

/// Most rounds.
const ROUNDS_MAX: i64 = 1000;

/// `bench cluster`.
#[derive(Debug, Args)]
pub(crate) struct BenchCluster {
    /// A built-in circuit program.
    #[arg(long, value_name = "NAME", default_value = "sha256")]
    circuit: CircuitId,
    /// Jobs of one round, one partition each.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=JOBS_MAX))]
    jobs: u32,
    /// Rounds, each a loop and a cluster, whose medians count.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=ROUNDS_MAX))]
    rounds: u32,
    /// How many workers.
    #[command(flatten)]
    size: Size,
}

/// What the rounds gave: medians over them.
#[derive(Debug, Serialize)]
struct Comparison {
    circuit: String,
    jobs: u32,
    rounds: usize,
    synth_workers: u32,
    gpu_workers: u32,
    device: String,
    /// Wall time of one loop over all jobs, in seconds.
    loop_s: f64,
    /// Wall time of the cluster, from the first submission until the last job succeeded, in seconds.
    cluster_s: f64,
    /// The cluster's proofs a second over the loop's.
    throughput_ratio: f64,
    /// Median time of a proof in the loop, verification included, in seconds.
    isolated_proof_s: f64,
    /// Proofs × isolated proving time ÷ (devices × wall): device busy that a slow prover cannot flatter.
    device_busy_by_work: f64,
    /// Device busy from the first pickup to the last proof, as the timeline says.
    device_busy: f64,
    /// The timeline's verdict on the last round.
    verdict: String,
}

/// Runs the comparison.
pub(crate) fn run(args: &BenchCluster, output: &Output) -> Result<Exit, CliError> {
    let store = store::open()?;
    let registry = CircuitRegistry::builtin();
    let circuit = registry.get(&args.circuit)?.clone();
    params::ensure(&circuit, &store, output)?;
    let inputs = inputs::samples(&args.circuit, args.jobs)?;
    let looped = Loop::new(&circuit, &store)?;
    let telemetry = Telemetry::start(TelemetryConfig::from_env("proofmill", "bench"))
        .map_err(EmbeddedError::from)?;
    let measured = measure(
        args, &inputs, &looped, &store, &registry, &telemetry, output,
    );
    telemetry.close();
    output.print(&measured?, text)?;
    Ok(Exit::Ok)
}

fn measure(
    args: &BenchCluster,
    inputs: &[Input],
    looped: &Loop<'_>,
    store: &Store,
    registry: &CircuitRegistry,
    telemetry: &Telemetry,
    output: &Output,
) -> Result<Comparison, CliError> {
    // Warms caches and pools, and generates nothing.
    looped.prove(&inputs[0].bytes)?;
    let mut rounds = Vec::new();
    for round in 1..=args.rounds {
        output.note(&format!("round {round} of {}", args.rounds));
        let mut proofs = Vec::new();
        let started = Instant::now();
        for input in inputs {
            proofs.push(looped.prove(&input.bytes)?);
        }
        let loop_time = started.elapsed();
        let (cluster_time, utilisation) =
            through_cluster(args, inputs, store, registry, telemetry)?;
        rounds.push((loop_time, proofs, cluster_time, utilisation));
    }
    let of = |time: &dyn Fn(&Round) -> f64| median(rounds.iter().map(time).collect());
    let loop_s = of(&|round| round.0.as_secs_f64());
    let cluster_s = of(&|round| round.2.as_secs_f64());
    let isolated_proof_s = of(&|round| median(round.1.iter().map(Duration::as_secs_f64).collect()));
    let jobs = f64::from(args.jobs);
    Ok(Comparison {
        circuit: args.circuit.to_string(),
        jobs: args.jobs,
        rounds: rounds.len(),
        synth_workers: args.size.synth_workers,
        gpu_workers: args.size.gpu_workers,
        device: looped.device.record().name.clone(),
        loop_s,
        cluster_s,
        throughput_ratio: of(&|round| round.0.as_secs_f64() / round.2.as_secs_f64()),
        isolated_proof_s,
        device_busy_by_work: jobs * isolated_proof_s
            / (cluster_s * f64::from(args.size.gpu_workers)),
        device_busy: of(&|round| round.3.device_busy),
        verdict: rounds
            .last()
            .map_or_else(String::new, |round| round.3.verdict.sentence.clone()),
    })
}

/// Loop, its proofs one by one, cluster, and what the cluster's timeline says.
type Round = (Duration, Vec<Duration>, Duration, Utilisation);

/// One device without a cluster around it.
struct Loop<'a> {
    circuit: &'a RegisteredCircuit,
    device: Device,
}

impl<'a> Loop<'a> {
    fn new(circuit: &'a RegisteredCircuit, store: &Store) -> Result<Self, CliError> {
        let device = open_device(DeviceChoice::Auto, store)?;
        device.load(&circuit.shape()?.digest)?;
        Ok(Self { circuit, device })
    }

    /// Witness, proof and verification; the time of the latter two.
    fn prove(&self, raw: &[u8]) -> Result<Duration, CliError> {
        let input = self.circuit.parse(raw)?;
        let assignment = self.circuit.witness(&input, 0)?;
        let blinding = BlindingFactors::random(&mut OsRng);
        let digest = self.circuit.shape()?.digest;
        let started = Instant::now();
        self.device.prove(&digest, &assignment, &blinding, &())?;
        Ok(started.elapsed())
    }
}

fn through_cluster(
    args: &BenchCluster,
    inputs: &[Input],
    store: &Store,
    registry: &CircuitRegistry,
    telemetry: &Telemetry,
) -> Result<(Duration, Utilisation), CliError> {
    let outcomes = actix::System::new().block_on(async {
        let cluster = EmbeddedCluster::start(args.size, store, registry.clone(), telemetry).await?;
        let coordinator = cluster.coordinator();
        // One job a device brings key and shape there: the loop has them as well.
        let warm = args.size.gpu_workers as usize;
        prove_all(&coordinator, &args.circuit, inputs, warm).await?;
        let started = Instant::now();
        let outcomes = prove_all(&coordinator, &args.circuit, inputs, inputs.len()).await;
        let wall = started.elapsed();
        cluster.stop().await;
        outcomes.map(|outcomes| (wall, outcomes))
    });
    let (wall, outcomes) = outcomes.map_err(CliError::from)?;
    let records: Vec<_> = outcomes
        .into_iter()
        .flat_map(|outcome| outcome.timeline)
        .collect();
    let options = UtilisationOptions {
        from: WindowStart::FirstPickup,
        ..UtilisationOptions::default()
    };
    Ok((wall, Utilisation::of_records(&records, options)))
}

fn text(found: &Comparison) -> String {
    let seconds = |time: f64| format!("{time:.2} s");
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let row = [
        found.circuit.clone(),
        found.jobs.to_string(),
        seconds(found.loop_s),
        seconds(found.cluster_s),
        format!("{:.3}", found.throughput_ratio),
        seconds(found.isolated_proof_s),
        percent(found.device_busy_by_work),
        percent(found.device_busy),
    ];
    let header = [
        "CIRCUIT",
        "JOBS",
        "LOOP",
        "CLUSTER",
        "THROUGHPUT",
        "A PROOF",
        "BUSY BY WORK",
        "DEVICE BUSY",
    ];
    format!("{}\n\n{}", table(header, [row]), found.verdict)
}
