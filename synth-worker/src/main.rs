//! The synthesis worker: circuit programs turned into shipped assignments, on CPUs only.

use std::process::ExitCode;

use proofmill_synth_worker::circuit::CircuitRegistry;

fn main() -> ExitCode {
    proofmill_synth_worker::main_with(CircuitRegistry::builtin())
}
