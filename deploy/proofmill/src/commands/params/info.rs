//! `proofmill params info`: what is in a circuit's parameters.

use std::path::PathBuf;

use proofmill_shared::groth16::{Check, ProvingKey};
use proofmill_shared::protocol::{CircuitId, Digest};
use proofmill_synth_worker::circuit::CircuitRegistry;
use serde::Serialize;

use crate::cli::ParamsSource;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, table};
use crate::store;

#[derive(Debug, Serialize)]
struct Info {
    circuit: CircuitId,
    shape: Digest,
    num_constraints: usize,
    /// With the leading one.
    num_inputs: usize,
    num_aux: usize,
    domain_size: usize,
    distinct_coefficients: usize,
    non_zeros: [usize; 3],
    /// Absent if there are no parameters yet.
    params: Option<ParamsInfo>,
}

#[derive(Debug, Serialize)]
struct ParamsInfo {
    path: PathBuf,
    key: Digest,
    verifying_key: Digest,
    file_bytes: u64,
    h_query: usize,
    l_query: usize,
    a_query: usize,
    b_g1_query: usize,
    b_g2_query: usize,
}

/// Shows a circuit's shape and, if there are any, its parameters, without checking their points.
pub(super) fn run(args: &ParamsSource, output: &Output) -> Result<Exit, CliError> {
    let registry = CircuitRegistry::builtin();
    let circuit = registry.get(&args.circuit)?;
    let shape = circuit.shape()?;
    let path = match &args.params {
        Some(path) => Some(path.clone()),
        None => {
            let store = store::open()?;
            let path = store.key_path(shape.digest);
            path.exists().then_some(path)
        }
    };
    let info = Info {
        circuit: circuit.id(),
        shape: shape.digest,
        num_constraints: shape.num_constraints,
        num_inputs: shape.num_inputs,
        num_aux: shape.num_aux,
        domain_size: shape.domain_size(),
        distinct_coefficients: shape.dictionary.len(),
        non_zeros: [&shape.a, &shape.b, &shape.c].map(|matrix| matrix.columns.len()),
        params: path.map(params).transpose()?,
    };
    output.print(&info, text)?;
    Ok(Exit::Ok)
}

fn params(path: PathBuf) -> Result<ParamsInfo, CliError> {
    let key =
        ProvingKey::open(&path, Check::Trusted).map_err(|error| CliError::key(&path, error))?;
    Ok(ParamsInfo {
        key: key.digest,
        verifying_key: key.vk.digest(),
        file_bytes: std::fs::metadata(&path).map_or(0, |file| file.len()),
        path,
        h_query: key.h_query.len(),
        l_query: key.l_query.len(),
        a_query: key.a_query.len(),
        b_g1_query: key.b_g1_query.len(),
        b_g2_query: key.b_g2_query.len(),
    })
}

fn text(info: &Info) -> String {
    let row = |name: &str, value: String| [name.to_owned(), value];
    let [a, b, c] = info.non_zeros;
    let mut rows = vec![
        row("circuit", info.circuit.to_string()),
        row("shape", info.shape.to_string()),
        row("constraints", info.num_constraints.to_string()),
        row(
            "public inputs",
            info.num_inputs.saturating_sub(1).to_string(),
        ),
        row("private variables", info.num_aux.to_string()),
        row("domain", info.domain_size.to_string()),
        row("coefficients", info.distinct_coefficients.to_string()),
        row("non-zeros a, b, c", format!("{a}, {b}, {c}")),
    ];
    match &info.params {
        None => rows.push(row(
            "params",
            format!("none: proofmill params generate {}", info.circuit),
        )),
        Some(params) => rows.extend([
            row("params", params.path.display().to_string()),
            row("key", params.key.to_string()),
            row("verifying key", params.verifying_key.to_string()),
            row("params file", format!("{} bytes", params.file_bytes)),
            row(
                "points h, l, a, b1, b2",
                format!(
                    "{}, {}, {}, {}, {}",
                    params.h_query,
                    params.l_query,
                    params.a_query,
                    params.b_g1_query,
                    params.b_g2_query
                ),
            ),
        ]),
    }
    table(["", ""], rows)
}
