//! The coordinator: job state machine, scheduler, HTTP API and reports.

fn main() {}
