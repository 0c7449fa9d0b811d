//! From a circuit with values to a checked assignment.
//!
//! *Layout*: `builder` (the constraint system that keeps values only), `check` (constraints against the shape).

mod builder;
mod check;

pub use builder::build;
pub use check::check;
