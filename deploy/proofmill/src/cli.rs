//! What can be typed.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use proofmill_coordinator::api::{
    IDEMPOTENCY_KEY_LEN_MAX, JOBS_PER_PAGE_MAX, is_idempotency_key, parse_duration,
};
use proofmill_coordinator::view::Priority;
use proofmill_shared::protocol::{CircuitId, JobId};

use crate::commands::BenchCluster;
use crate::embedded::Size;

/// A distributed Groth16 proving cluster.
///
/// Exit codes: 0 ok, 1 failed, 2 usage or configuration, 3 rejected, 4 unreachable, 5 timed out.
#[derive(Debug, Parser)]
#[command(
    name = "proofmill",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    /// Which coordinator.
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// Prints JSON for programs instead of text for people; errors too, on standard error.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which coordinator, and as whom.
#[derive(Debug, Clone, Args)]
pub(crate) struct Connection {
    /// Address of the coordinator.
    #[arg(
        long,
        global = true,
        env = "PROOFMILL_URL",
        default_value = "http://127.0.0.1:7311",
        value_name = "URL"
    )]
    pub(crate) url: String,
    /// Key for a coordinator, or a proxy before it, that wants one.
    #[arg(
        long,
        global = true,
        env = "PROOFMILL_API_KEY",
        hide_env_values = true,
        value_name = "KEY"
    )]
    pub(crate) api_key: Option<ApiKey>,
}

/// A secret: never printed.
#[derive(Clone)]
pub(crate) struct ApiKey(String);

impl ApiKey {
    /// The key itself, for the request's header.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for ApiKey {
    fn from(key: String) -> Self {
        Self(key)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Proves files by their SHA-256 in an embedded cluster, and shows where the time went.
    Demo(Demo),
    /// Runs an embedded cluster with the HTTP API until it is interrupted.
    Up(Up),
    /// Measures, side by side with a peer.
    #[command(subcommand)]
    Bench(Bench),
    /// Submits a job.
    Submit(Submit),
    /// Lists jobs, newest first.
    Jobs(Jobs),
    /// Shows a job.
    Job(Job),
    /// Cancels a job.
    Cancel(OneJob),
    /// Submits a job again that ended without success.
    Retry(OneJob),
    /// Lists the workers that are alive.
    Workers,
    /// Lists the circuits that can be submitted.
    Circuits,
    /// Draws what happened to a job as a waterfall.
    Timeline(Timeline),
    /// Fetches the proofs of a job.
    Proof(Proof),
    /// Verifies a proof file offline.
    Verify(Verify),
    /// Makes, shows and checks proving parameters.
    #[command(subcommand)]
    Params(Params),
}

/// Largest number of jobs one demo submits: every job is held in memory.
const DEMO_JOBS_MAX: i64 = 10_000;

/// `demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Files to prove; without one, a short text that comes with the program.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Number of jobs: the files are taken in turn.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=DEMO_JOBS_MAX))]
    pub(crate) jobs: Option<u32>,
    /// How many workers.
    #[command(flatten)]
    pub(crate) size: Size,
}

/// `up`.
#[derive(Debug, Args)]
pub(crate) struct Up {
    /// Address of the HTTP API.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7311")]
    pub(crate) listen: SocketAddr,
    /// Allows an address that other machines reach, without keys and TLS: for use behind a proxy that checks its clients.
    #[arg(long)]
    pub(crate) insecure_http: bool,
    /// How many workers.
    #[command(flatten)]
    pub(crate) size: Size,
}

/// Most runs of one measurement.
const BENCH_RUNS_MAX: i64 = 1000;

/// `bench`.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Proves `sha256` and `chain` with our CPU backend and with bellperson, in turn.
    Prove(BenchProve),
    /// Proves jobs through an embedded cluster and in a loop, in turn.
    Cluster(BenchCluster),
}

/// `bench prove`.
#[derive(Debug, Args)]
pub(crate) struct BenchProve {
    /// Runs of each, whose median counts; one more warms up.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=BENCH_RUNS_MAX))]
    pub(crate) runs: u32,
}

/// `submit`.
#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// The circuit program, such as `sha256` or `sha256@1`.
    pub(crate) circuit: CircuitId,
    /// What it shall prove.
    #[command(flatten)]
    pub(crate) input: Input,
    /// Waits until the job has ended, and exits as it ended.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Writes the proofs to this file; implies --wait.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Gives up waiting after this time (exit code 5); the job goes on.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// How much it matters.
    #[arg(long, value_enum, default_value_t = PriorityName::Normal)]
    pub(crate) priority: PriorityName,
    /// When the result is of no more use: a duration from now such as `10m`, or microseconds since the Unix epoch.
    #[arg(long, value_name = "WHEN")]
    pub(crate) deadline: Option<String>,
    /// The same key and the same input name the same job: makes it safe to submit again.
    #[arg(long, value_name = "KEY", value_parser = idempotency_key)]
    pub(crate) idempotency_key: Option<String>,
}

fn idempotency_key(text: &str) -> Result<String, String> {
    if is_idempotency_key(text) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "expected 1 to {IDEMPOTENCY_KEY_LEN_MAX} visible ASCII characters without spaces"
        ))
    }
}

/// Where an input comes from.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Input {
    /// A file, or `-` for standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// The input itself, as JSON.
    #[arg(long, value_name = "JSON")]
    pub(crate) input_json: Option<String>,
    /// The same as --input.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Names of the priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PriorityName {
    /// Last.
    Low,
    /// The default.
    Normal,
    /// Before normal.
    High,
    /// Before everything.
    Critical,
}

impl From<PriorityName> for Priority {
    fn from(name: PriorityName) -> Self {
        match name {
            PriorityName::Low => Self::Low,
            PriorityName::Normal => Self::Normal,
            PriorityName::High => Self::High,
            PriorityName::Critical => Self::Critical,
        }
    }
}

/// `jobs`.
#[derive(Debug, Args)]
pub(crate) struct Jobs {
    /// How many.
    #[arg(long, default_value_t = 20, value_parser = page_size)]
    pub(crate) limit: usize,
    /// Only jobs older than this one.
    #[arg(long, value_name = "ID")]
    pub(crate) before: Option<JobId>,
}

fn page_size(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(limit) if (1..=JOBS_PER_PAGE_MAX).contains(&limit) => Ok(limit),
        _ => Err(format!("expected 1 to {JOBS_PER_PAGE_MAX}")),
    }
}

/// `job`.
#[derive(Debug, Args)]
pub(crate) struct Job {
    /// The job.
    pub(crate) id: JobId,
    /// Waits until it has ended, and exits as it ended.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Gives up waiting after this time (exit code 5); the job goes on.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "wait")]
    pub(crate) timeout: Option<Duration>,
}

/// A command about one job.
#[derive(Debug, Args)]
pub(crate) struct OneJob {
    /// The job.
    pub(crate) id: JobId,
}

/// `timeline`.
#[derive(Debug, Args)]
pub(crate) struct Timeline {
    /// The job.
    pub(crate) id: JobId,
}

/// `proof`.
#[derive(Debug, Args)]
pub(crate) struct Proof {
    /// The job.
    pub(crate) id: JobId,
    /// Writes to this file; standard output otherwise.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// `verify`.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// A file that `proofmill proof` or `submit --out` wrote.
    pub(crate) proof: PathBuf,
    /// Takes the verifying key from this params file; otherwise from the store, by the circuit.
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Option<PathBuf>,
    /// Insists on this circuit; otherwise the one that the proof file names.
    #[arg(long, value_name = "CIRCUIT")]
    pub(crate) circuit: Option<CircuitId>,
    /// The job's input: checks the output too, which otherwise is as the cluster states it.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
}

/// `params`.
#[derive(Debug, Subcommand)]
pub(crate) enum Params {
    /// Makes parameters for a circuit by a development set-up: whoever runs it can forge proofs.
    Generate(Generate),
    /// Shows what is in a circuit's parameters.
    Info(ParamsSource),
    /// Checks parameters: every point on its curve and in its subgroup, and every count.
    Check(ParamsSource),
    /// Lists the built-in circuits, and which have parameters in the store.
    List,
}

/// `params generate`.
#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// The circuit program.
    pub(crate) circuit: CircuitId,
    /// Makes them anew where the store has some: proofs under the old ones no longer verify.
    #[arg(long)]
    pub(crate) force: bool,
}

/// Which parameters.
#[derive(Debug, Args)]
pub(crate) struct ParamsSource {
    /// The circuit program they belong to.
    pub(crate) circuit: CircuitId,
    /// The file; otherwise the store's.
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn good_lines_are_read() {
        let id = "0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11";
        for line in [
            "proofmill submit sha256 --input file --wait --out proof.json --timeout 90s",
            "proofmill submit sha256 file",
            "proofmill submit sha256 -",
            "proofmill submit chain --input-json {} --priority high --deadline 10m --idempotency-key k",
            "proofmill --json jobs --limit 5",
            "proofmill jobs --json --url http://10.0.0.1:1",
            &format!("proofmill job {id} --wait --timeout 5s"),
            &format!("proofmill cancel {id}"),
            &format!("proofmill retry {id}"),
            &format!("proofmill timeline {id}"),
            &format!("proofmill proof {id} --out proof.json"),
            "proofmill workers",
            "proofmill demo",
            "proofmill bench prove --runs 3 --json",
            "proofmill demo a b --jobs 9 --synth-workers 2 --gpu-workers 2 --json",
            "proofmill up --listen 127.0.0.1:0",
            "proofmill circuits",
            "proofmill verify proof.json --params key.params --input file",
            "proofmill verify proof.json --circuit sha256@1",
            "proofmill params generate sha256 --force",
            "proofmill params info sha256 --params key.params",
            "proofmill params check sha256",
            "proofmill params list",
        ] {
            assert!(parse(line).is_ok(), "{line}: {:?}", parse(line).err());
        }
    }

    #[test]
    fn bad_lines_are_usage_errors() {
        for line in [
            "proofmill",
            "proofmill fly",
            "proofmill demo --jobs 0",
            "proofmill bench",
            "proofmill up --listen here",
            "proofmill submit",
            "proofmill submit sha256",
            "proofmill submit Sha! --input file",
            "proofmill submit sha256 --input a --input-json 1",
            "proofmill submit sha256 a --input b",
            "proofmill submit sha256 a --priority urgent",
            "proofmill submit sha256 a --timeout 10",
            "proofmill submit sha256 a --idempotency-key schlüssel",
            "proofmill jobs --limit 0",
            "proofmill jobs --limit 501",
            "proofmill job 7",
            "proofmill job 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11 --timeout 5s",
            "proofmill verify",
            "proofmill params",
            "proofmill params generate",
        ] {
            let error = parse(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn an_api_key_is_not_printed() {
        let cli = parse("proofmill jobs --api-key hunter2").unwrap();
        assert!(!format!("{cli:?}").contains("hunter2"));
        assert_eq!(cli.connection.api_key.unwrap().expose(), "hunter2");
    }
}
