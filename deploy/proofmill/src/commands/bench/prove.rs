//! `proofmill bench prove`: our CPU backend and bellperson's prover on the same circuits and keys, in one process.
//!
//! Ours is witness synthesis and proof; bellperson's `create_random_proof_batch` is synthesis and proof too. Runs of the
//! two alternate, so that a slower minute of the machine falls on both.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::time::{Duration, Instant};

use bellperson::groth16::{Parameters, create_random_proof_batch};
use blstrs::Bls12;
use proofmill_gpu_worker::device::{Device, DeviceChoice};
use proofmill_gpu_worker::prover::{BlindingFactors, Step, StepTimes};
use proofmill_shared::groth16::{Assignment, Shape, Store};
use proofmill_synth_worker::circuit::{Chain, CircuitProgram, CircuitRegistry, Sha256};
use proofmill_synth_worker::witness;
use rand::rngs::OsRng;
use serde::Serialize;

use super::super::params;
use super::{median, open_device};
use crate::cli::BenchProve;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, table};
use crate::store;

/// Steps of the built-in program `chain`, whose domain is 2^16.
const CHAIN_STEPS: u32 = 65_000;

/// What one circuit gave. Times are medians, in milliseconds.
#[derive(Debug, Serialize)]
struct Row {
    circuit: String,
    rows: usize,
    device: String,
    runs: usize,
    witness_ms: f64,
    prove_ms: f64,
    verify_ms: f64,
    ours_ms: f64,
    bellperson_ms: f64,
    /// bellperson's time over ours.
    speed_up: f64,
    steps_ms: BTreeMap<&'static str, f64>,
}

/// Runs the comparison.
pub(crate) fn run(args: &BenchProve, output: &Output) -> Result<Exit, CliError> {
    let store = store::open()?;
    let device = open_device(DeviceChoice::Cpu, &store)?;
    let bench = Bench {
        device,
        store,
        runs: args.runs as usize,
        output,
    };
    let rows = [
        bench.measure(&Sha256::with_blocks(2), b"a file that fills its partition: two blocks of sixty-four bytes each, padding included..")?,
        bench.measure(&Chain::named("chain", CHAIN_STEPS), br#"{"start": 3}"#)?,
    ];
    output.print(&rows, |rows| text(rows))?;
    Ok(Exit::Ok)
}

struct Bench<'a> {
    device: Device,
    store: Store,
    runs: usize,
    output: &'a Output,
}

impl Bench<'_> {
    fn measure<P>(&self, program: &P, raw: &[u8]) -> Result<Row, CliError>
    where
        P: CircuitProgram<Circuit: Send> + Clone,
    {
        let registry = CircuitRegistry::empty().with(program.clone());
        let circuit = registry.get(&program.id())?;
        params::ensure(circuit, &self.store, self.output)?;
        let shape = circuit.shape()?;
        let input = program.parse(raw)?;
        let path = self.store.key_path(shape.digest);
        let file = File::open(&path).map_err(|error| CliError::read(&path, error))?;
        let peer = Parameters::<Bls12>::read(BufReader::new(file), false);
        let peer = peer.map_err(|error| CliError::read(&path, error))?;
        self.device.load(&shape.digest)?;
        let mut times = Times::default();
        for run in 0..=self.runs {
            let ours = self.prove(program, &input, &shape)?;
            let started = Instant::now();
            let theirs =
                create_random_proof_batch(vec![program.circuit(&input, 0)?], &peer, &mut OsRng);
            let theirs = theirs.map(|_| started.elapsed());
            let theirs = theirs
                .map_err(|error| CliError::Usage(format!("bellperson did not prove: {error}")))?;
            // The first run of each warms caches and pools.
            if run > 0 {
                times.add(ours, theirs);
            }
        }
        Ok(times.row(
            program.id().to_string(),
            &shape,
            self.device.record().name.clone(),
        ))
    }

    /// Witness and proof, with the times of the steps.
    fn prove<P: CircuitProgram>(
        &self,
        program: &P,
        input: &P::Input,
        shape: &Shape,
    ) -> Result<Ours, CliError> {
        let started = Instant::now();
        let assignment: Assignment = witness::build(program.circuit(input, 0)?, shape)?;
        let witness = started.elapsed();
        let steps = StepTimes::default();
        let blinding = BlindingFactors::random(&mut OsRng);
        let started = Instant::now();
        self.device
            .prove(&shape.digest, &assignment, &blinding, &steps)?;
        let whole = started.elapsed();
        let mut by_name = BTreeMap::new();
        let mut verify = Duration::ZERO;
        for step in steps.take() {
            if step.step == Step::Verify {
                verify = step.duration();
            } else {
                *by_name
                    .entry(step.step.span_name())
                    .or_insert(Duration::ZERO) += step.duration();
            }
        }
        Ok(Ours {
            witness,
            prove: whole.saturating_sub(verify),
            verify,
            steps: by_name,
        })
    }
}

struct Ours {
    witness: Duration,
    prove: Duration,
    verify: Duration,
    steps: BTreeMap<&'static str, Duration>,
}

#[derive(Default)]
struct Times {
    witness: Vec<Duration>,
    prove: Vec<Duration>,
    verify: Vec<Duration>,
    ours: Vec<Duration>,
    theirs: Vec<Duration>,
    steps: BTreeMap<&'static str, Vec<Duration>>,
}

impl Times {
    fn add(&mut self, ours: Ours, theirs: Duration) {
        self.witness.push(ours.witness);
        self.prove.push(ours.prove);
        self.verify.push(ours.verify);
        self.ours.push(ours.witness + ours.prove);
        self.theirs.push(theirs);
        for (name, time) in ours.steps {
            self.steps.entry(name).or_default().push(time);
        }
    }

    fn row(self, circuit: String, shape: &Shape, device: String) -> Row {
        let (ours_ms, bellperson_ms) = (median_ms(&self.ours), median_ms(&self.theirs));
        Row {
            circuit,
            rows: shape.num_rows(),
            device,
            runs: self.ours.len(),
            witness_ms: median_ms(&self.witness),
            prove_ms: median_ms(&self.prove),
            verify_ms: median_ms(&self.verify),
            ours_ms,
            bellperson_ms,
            speed_up: bellperson_ms / ours_ms,
            steps_ms: self
                .steps
                .iter()
                .map(|(name, times)| (*name, median_ms(times)))
                .collect(),
        }
    }
}

fn median_ms(times: &[Duration]) -> f64 {
    median(times.iter().map(|time| time.as_secs_f64() * 1e3).collect())
}

fn text(rows: &[Row]) -> String {
    let cells = rows.iter().map(|row| {
        let ms = |time: f64| format!("{time:.0} ms");
        let steps: Vec<String> = row
            .steps_ms
            .iter()
            .map(|(name, time)| format!("{} {time:.0}", name.trim_start_matches("gpu.")))
            .collect();
        [
            row.circuit.clone(),
            row.rows.to_string(),
            ms(row.witness_ms),
            ms(row.prove_ms),
            ms(row.bellperson_ms),
            format!("{:.2}", row.speed_up),
            steps.join(", "),
        ]
    });
    table(
        [
            "CIRCUIT",
            "ROWS",
            "WITNESS",
            "PROVE",
            "BELLPERSON",
            "TIMES",
            "STEPS (MS)",
        ],
        cells,
    )
}
