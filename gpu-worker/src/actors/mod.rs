//! The actors of a GPU worker, in the order an assignment passes them.
//!
//! *Layout*: `assignment_intake` (fetch, decode, circuit on the device), `device_owner` (one device, one proof at a
//! time), `proof_publisher` (store, report), `attempt` (what travels between them).

mod assignment_intake;
mod attempt;
mod device_owner;
mod proof_publisher;

pub(crate) use assignment_intake::{AssignmentIntake, Way};
pub(crate) use attempt::Attempt;
pub(crate) use device_owner::{DeviceOwner, ProveAssignment};
pub(crate) use proof_publisher::{ProofPublisher, PublishProof};
