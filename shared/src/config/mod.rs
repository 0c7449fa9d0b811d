//! Configuration: one TOML file, `PROOFMILL_*` environment, flags, in rising order.
