//! Inputs for the built-in circuit programs, one partition each.

use bytes::Bytes;
use proofmill_shared::protocol::CircuitId;

use crate::embedded::Input;
use crate::error::CliError;

/// As many inputs as asked for, no two alike.
///
/// # Errors
/// [`CliError::Usage`] if no inputs are known for the program.
pub(super) fn samples(circuit: &CircuitId, count: u32) -> Result<Vec<Input>, CliError> {
    (0..count)
        .map(|index| {
            Ok(Input {
                name: format!("input {index}"),
                bytes: sample(circuit, index)?,
            })
        })
        .collect()
}

fn sample(circuit: &CircuitId, index: u32) -> Result<Bytes, CliError> {
    let name = circuit.name();
    if name.starts_with("sha256") {
        Ok(format!("a text that fills two blocks of SHA-256, the padding included: number {index:08} of a bench").into())
    } else if name.starts_with("chain") {
        Ok(format!(r#"{{"start": {}}}"#, index + 2).into())
    } else {
        Err(CliError::Usage(format!(
            "bench has inputs for the programs sha256… and chain…, not for {circuit}"
        )))
    }
}
