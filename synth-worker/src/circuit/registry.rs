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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_circuit_is_told_what_there_is() {
        let registry = CircuitRegistry::builtin();
        let refused = registry.get(&"sha512".parse().unwrap()).unwrap_err();
        let told = refused.to_string();
        assert!(
            told.contains("sha512@1") && told.contains("sha256@1"),
            "{told}"
        );
        assert_eq!(refused.failure().code, "unknown-circuit");
    }

    #[test]
    fn a_version_is_part_of_the_name() {
        let registry = CircuitRegistry::builtin();
        assert!(registry.get(&"sha256".parse().unwrap()).is_ok());
        assert!(registry.get(&"sha256@2".parse().unwrap()).is_err());
    }

    #[test]
    fn clones_record_a_shape_once() {
        let registry = CircuitRegistry::empty().with(Chain::named("chain-short", 5));
        let id = "chain-short".parse().unwrap();
        let shape = registry.clone().get(&id).unwrap().shape().unwrap();
        let again = registry.get(&id).unwrap().shape().unwrap();
        assert!(std::sync::Arc::ptr_eq(&shape, &again));
    }
}
