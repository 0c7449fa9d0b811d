//! `proofmill params check`: are these parameters fit for this circuit.

use proofmill_shared::protocol::{CircuitId, Digest};
use proofmill_synth_worker::circuit::CircuitRegistry;
use serde::Serialize;

use crate::cli::ParamsSource;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;
use crate::store;

#[derive(Debug, Serialize)]
struct Checked {
    circuit: CircuitId,
    shape: Digest,
    key: Digest,
    verifying_key: Digest,
    checked: &'static str,
}

/// Checks every point and every count.
pub(super) fn run(args: &ParamsSource, output: &Output) -> Result<Exit, CliError> {
    let registry = CircuitRegistry::builtin();
    let circuit = registry.get(&args.circuit)?;
    let shape = circuit.shape()?;
    let from_store;
    let path = match &args.params {
        Some(path) => path.as_path(),
        None => {
            // A file of the store is checked anew: that it was checked before is what is in question.
            let store = store::open()?;
            if !store.key_path(shape.digest).exists() {
                store.open_key(shape.digest)?;
            }
            from_store = store.key_path(shape.digest);
            &from_store
        }
    };
    let key = store::key(&shape, Some(path))?;
    let checked = Checked {
        circuit: circuit.id(),
        shape: shape.digest,
        key: key.digest,
        verifying_key: key.vk.digest(),
        checked: "every point lies on its curve and in its subgroup, none is the identity, gamma and delta differ, and \
                  every count is the circuit's",
    };
    output.print(&checked, |checked| {
        format!("good: {}\nkey   {}", checked.checked, checked.key)
    })?;
    Ok(Exit::Ok)
}
