//! The proofmill command: embedded cluster and client.

fn main() {}
