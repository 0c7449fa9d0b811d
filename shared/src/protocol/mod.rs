//! What travels between the coordinator and the workers.
//!
//! *Layout*: `ids` (who and what), `task` (coordinator to worker), `event` (worker to coordinator), `worker` (the
//! heartbeat's record), `envelope` (what surrounds every message), `failure` (why a task failed).

mod envelope;
mod event;
mod failure;
mod ids;
mod task;
mod worker;

pub use envelope::{Envelope, PROTOCOL_VERSION, ProtocolError, TraceContext};
pub use event::{EventMessage, WorkerEvent};
pub use failure::{FailureKind, TaskFailure};
pub use ids::{
    CircuitId, Digest, FencingToken, IdError, Incarnation, JobId, Stage, TaskKey, Unit, UnixMicros,
    WorkerId,
};
pub use task::{Control, FinishTask, PartitionProof, Plan, PlanTask, ProveTask, SynthTask, Task};
pub use worker::{CircuitRecord, DeviceRecord, HeldTask, Role, WorkerRecord};
