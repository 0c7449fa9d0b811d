//! Writes the seeds of every target into its corpus: `cargo run --bin seeds`.

use std::path::Path;

use proofmill_shared::assignment::fuzzing::seeds;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/assignment");
    std::fs::create_dir_all(&corpus)?;
    for (index, seed) in seeds()?.iter().enumerate() {
        std::fs::write(corpus.join(format!("seed-{index}")), seed)?;
    }
    Ok(())
}
