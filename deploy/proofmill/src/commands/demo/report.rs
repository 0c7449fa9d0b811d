//! What the demo prints: digests as proven, the waterfall, the time it took.

use std::io::IsTerminal;
use std::time::Duration;

use proofmill_shared::groth16::VerifyingKey;
use proofmill_shared::protocol::JobId;
use proofmill_shared::telemetry::TimelineRecord;
use proofmill_shared::telemetry::utilisation::{Utilisation, UtilisationOptions};
use proofmill_shared::telemetry::waterfall::{WaterfallOptions, render};
use proofmill_synth_worker::circuit::RegisteredCircuit;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::commands::verify::verify_all;
use crate::embedded::{EmbeddedError, Outcome};
use crate::error::CliError;
use crate::output::{duration, terminal_width};
use crate::store;

/// What one file's job gave.
#[derive(Debug, Serialize)]
struct Proven {
    file: String,
    job: JobId,
    /// As the public inputs of the proofs show it, in hex.
    sha256: String,
    bytes: usize,
    /// Proofs, all verified here again.
    proofs: usize,
}

/// What the demo gave.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    proven: Vec<Proven>,
    wall_s: f64,
    utilisation: Utilisation,
    timeline: Vec<TimelineRecord>,
}

impl Report {
    /// Verifies every proof again, from the bytes that a client would get.
    pub(super) fn new(
        outcomes: &[Outcome],
        circuit: &RegisteredCircuit,
        wall: Duration,
    ) -> Result<Self, CliError> {
        let key = store::key(&*circuit.shape()?, None)?.vk;
        let mut proven = Vec::new();
        let mut timeline = Vec::new();
        for outcome in outcomes {
            proven.push(check(outcome, circuit, &key)?);
            timeline.extend(outcome.timeline.iter().cloned());
        }
        timeline.sort_by_key(|record: &TimelineRecord| record.at);
        let utilisation = Utilisation::of_records(&timeline, UtilisationOptions::default());
        Ok(Self {
            proven,
            wall_s: wall.as_secs_f64(),
            utilisation,
            timeline,
        })
    }
}

fn check(
    outcome: &Outcome,
    circuit: &RegisteredCircuit,
    key: &VerifyingKey,
) -> Result<Proven, CliError> {
    let public_inputs = verify_all(&outcome.proof.partitions, key)?;
    // The output is computed here once more, from the proofs' public inputs.
    let input = circuit.parse(&outcome.input.bytes)?;
    let output = circuit.finish(&input, &public_inputs)?;
    let found = hex::encode(Sha256::digest(&outcome.input.bytes));
    let proven = output["sha256"].as_str().unwrap_or_default().to_owned();
    if proven != found {
        let name = outcome.input.name.clone();
        return Err(EmbeddedError::OtherDigest {
            name,
            proven,
            found,
        }
        .into());
    }
    Ok(Proven {
        file: outcome.input.name.clone(),
        job: outcome.job,
        sha256: proven,
        bytes: outcome.input.bytes.len(),
        proofs: outcome.proof.partitions.len(),
    })
}

/// The report for people.
pub(super) fn text(report: &Report) -> String {
    let mut text = String::new();
    for proven in &report.proven {
        let Proven {
            file,
            sha256,
            proofs,
            ..
        } = proven;
        let proofs = if *proofs == 1 {
            "1 proof".to_owned()
        } else {
            format!("{proofs} proofs")
        };
        text.push_str(&format!("{sha256}  {file}  ({proofs}, verified)\n"));
    }
    let options = WaterfallOptions {
        width: terminal_width().unwrap_or(WaterfallOptions::default().width),
        is_coloured: std::io::stdout().is_terminal(),
        ..WaterfallOptions::default()
    };
    text.push_str(&format!("\n{}\n", render(&report.timeline, options)));
    let wall = duration(Duration::from_secs_f64(report.wall_s));
    let jobs = match report.proven.len() {
        1 => "1 job".to_owned(),
        many => format!("{many} jobs"),
    };
    text.push_str(&format!(
        "{jobs} proved in {wall}
"
    ));
    text
}
