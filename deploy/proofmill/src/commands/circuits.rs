//! `proofmill circuits`: lists the circuits that can be submitted.

use proofmill_coordinator::api::CircuitsAnswer;

use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, table};

/// Lists circuits.
pub(crate) async fn run(client: &Client, output: &Output) -> Result<Exit, CliError> {
    output.print(&client.circuits().await?, text)?;
    Ok(Exit::Ok)
}

fn text(answer: &CircuitsAnswer) -> String {
    if answer.circuits.is_empty() {
        return "no circuits: start a `synth-worker`, or `proofmill up`".to_owned();
    }
    let rows = answer.circuits.iter().map(|circuit| {
        [
            circuit.id.to_string(),
            circuit.num_constraints.to_string(),
            circuit.statement.clone(),
            circuit.input.clone(),
        ]
    });
    table(["CIRCUIT", "CONSTRAINTS", "PROVES", "INPUT"], rows)
}
