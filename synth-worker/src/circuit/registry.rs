//! The circuit programs a worker runs.

use std::collections::BTreeMap;

use proofmill_shared::protocol::CircuitId;

use super::{Chain, CircuitError, CircuitProgram, RegisteredCircuit, Sha256};

/// Programs by name and version. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct CircuitRegistry {
    circuits: BTreeMap<CircuitId, RegisteredCircuit>,
}

impl CircuitRegistry {
    /// A registry without programs.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// The programs that come with Proofmill: `sha256` (two blocks a partition, a domain of 2^16), `sha256-b8` (eight,
    /// 2^18), and `chain`, `chain-1k`, `chain-256k` (domains of 2^16, 2^10, 2^18).
    #[must_use]
    pub fn builtin() -> Self {
        Self::empty()
            .with(Sha256::with_blocks(2))
            .with(Sha256::with_blocks(8))
            .with(Chain::named("chain", 65_000))
            .with(Chain::named("chain-1k", 1_000))
            .with(Chain::named("chain-256k", 262_000))
    }

    /// Adds a program, in place of an older one of the same name and version.
    #[must_use]
    pub fn with(mut self, program: impl CircuitProgram) -> Self {
        let registered = RegisteredCircuit::new(program);
        self.circuits.insert(registered.id(), registered);
        self
    }

    /// Finds a program.
    ///
    /// # Errors
    /// [`CircuitError::UnknownCircuit`] with the names that are known.
    pub fn get(&self, id: &CircuitId) -> Result<&RegisteredCircuit, CircuitError> {
        let known = || {
            self.ids()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let unknown = || CircuitError::UnknownCircuit {
            circuit: id.to_string(),
            known: known(),
        };
        self.circuits.get(id).ok_or_else(unknown)
    }

    /// Names and versions of all programs.
    pub fn ids(&self) -> impl Iterator<Item = &CircuitId> {
        self.circuits.keys()
    }

    /// All programs.
    pub fn circuits(&self) -> impl Iterator<Item = &RegisteredCircuit> {
        self.circuits.values()
    }
}
