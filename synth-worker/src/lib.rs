//! The synthesis worker: circuit programs turned into shipped assignments, on CPUs only.
