//! The GPU worker: fetches assignments, proves, verifies.

fn main() {}
