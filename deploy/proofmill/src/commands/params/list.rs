//! `proofmill params list`: the built-in circuits, and whether the store has parameters for them.

use std::fs;
use std::path::PathBuf;

use proofmill_shared::groth16::Store;
use proofmill_shared::protocol::{CircuitId, Digest};
use proofmill_synth_worker::circuit::{CircuitRegistry, RegisteredCircuit};
use serde::Serialize;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, table};
use crate::store;

#[derive(Debug, Serialize)]
struct Listed {
    home: PathBuf,
    circuits: Vec<ListedCircuit>,
}

#[derive(Debug, Serialize)]
struct ListedCircuit {
    circuit: CircuitId,
    shape: Digest,
    domain_size: usize,
    /// Size of the params file; absent if there is none.
    bytes: Option<u64>,
}

/// Lists circuits with their parameters.
pub(super) fn run(output: &Output) -> Result<Exit, CliError> {
    let store = store::open()?;
    let registry = CircuitRegistry::builtin();
    let circuits: Result<_, CliError> = registry
        .circuits()
        .map(|circuit| listed(circuit, &store))
        .collect();
    let listed = Listed {
        home: store.home().to_owned(),
        circuits: circuits?,
    };
    output.print(&listed, text)?;
    Ok(Exit::Ok)
}

fn listed(circuit: &RegisteredCircuit, store: &Store) -> Result<ListedCircuit, CliError> {
    let shape = circuit.shape()?;
    let file = fs::metadata(store.key_path(shape.digest));
    Ok(ListedCircuit {
        circuit: circuit.id(),
        shape: shape.digest,
        domain_size: shape.domain_size(),
        bytes: file.ok().map(|file| file.len()),
    })
}

fn text(listed: &Listed) -> String {
    let rows = listed.circuits.iter().map(|circuit| {
        let size = |bytes: u64| format!("{} MiB", bytes.div_ceil(1024 * 1024));
        [
            circuit.circuit.to_string(),
            circuit.domain_size.to_string(),
            circuit.bytes.map_or_else(|| "none".to_owned(), size),
            circuit.shape.to_string(),
        ]
    });
    let circuits = table(["CIRCUIT", "DOMAIN", "PARAMS", "SHAPE"], rows);
    format!("store {}\n\n{circuits}", listed.home.display())
}
