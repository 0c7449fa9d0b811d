//! `proofmill params generate`: parameters by a development set-up, kept in the store by the circuit's shape.

use std::path::PathBuf;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use proofmill_shared::groth16::{
    ProvingKey, SetupProgress, Shape, Store, generate_development_key,
};
use proofmill_shared::protocol::{CircuitId, Digest};
use proofmill_synth_worker::circuit::{CircuitRegistry, RegisteredCircuit};
use rand::rngs::OsRng;
use serde::Serialize;

use crate::cli::Generate;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, duration};
use crate::store;

/// What whoever generates parameters must know.
const WARNING: &str = "\
WARNING: this is a DEVELOPMENT SET-UP. One machine draws the secrets behind the parameters; whoever keeps them can
forge proofs of false statements. Use it for tests and demonstrations only, and parameters of a multi-party ceremony
for anything of value.";

/// What was generated, or was there already.
#[derive(Debug, Serialize)]
struct Generated {
    circuit: CircuitId,
    shape: Digest,
    key: Digest,
    verifying_key: Digest,
    path: PathBuf,
    /// False if the store had parameters of this shape.
    is_new: bool,
    took_ms: u64,
    warning: &'static str,
}

/// Generates parameters, unless the store has some for the circuit's shape.
pub(super) fn run(args: &Generate, output: &Output) -> Result<Exit, CliError> {
    let registry = CircuitRegistry::builtin();
    let circuit = registry.get(&args.circuit)?;
    let store = store::open()?;
    output.note(WARNING);
    let started = Instant::now();
    let shape = circuit.shape()?;
    let is_new = args.force || !store.key_path(shape.digest).exists();
    let key = if is_new {
        generate(&shape, &store, output)?
    } else {
        store.open_key(shape.digest)?
    };
    let generated = Generated {
        circuit: circuit.id(),
        shape: shape.digest,
        key: key.digest,
        verifying_key: key.vk.digest(),
        path: store.key_path(shape.digest),
        is_new,
        took_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        warning: WARNING,
    };
    output.print(&generated, |generated| text(generated, started))?;
    Ok(Exit::Ok)
}

/// Makes sure that the store has parameters of a circuit: generates them, and says so, where it has none.
pub(crate) fn ensure(
    circuit: &RegisteredCircuit,
    store: &Store,
    output: &Output,
) -> Result<(), CliError> {
    let shape = circuit.shape()?;
    if !store.key_path(shape.digest).exists() {
        output.note(WARNING);
        let started = Instant::now();
        generate(&shape, store, output)?;
        output.note(&format!(
            "made parameters of {} in {}",
            circuit.id(),
            duration(started.elapsed())
        ));
    }
    store.put_shape(&shape)?;
    Ok(())
}

fn generate(shape: &Shape, store: &Store, output: &Output) -> Result<ProvingKey, CliError> {
    let bar = output.is_watched().then(progress_bar);
    let key = generate_development_key(shape, &mut OsRng, &|progress| show(bar.as_ref(), progress));
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    let key = key?;
    store.put_shape(shape)?;
    store.put_key(shape.digest, &key)?;
    Ok(key)
}

fn text(generated: &Generated, started: Instant) -> String {
    let path = generated.path.display();
    if generated.is_new {
        let took = duration(started.elapsed());
        format!("wrote {path} ({took})\nkey   {}", generated.key)
    } else {
        format!(
            "{path} is there already; --force makes it anew\nkey   {}",
            generated.key
        )
    }
}

fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{bar:40} {percent:>3} % of {len} points, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn show(bar: Option<&ProgressBar>, progress: SetupProgress) {
    if let Some(bar) = bar {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
    }
}
