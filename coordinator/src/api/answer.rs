//! Answers: every one about a job carries its trace id and its links.

use proofmill_shared::protocol::{CircuitId, CircuitRecord, JobId, PartitionProof};
use proofmill_shared::telemetry::TimelineRecord;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::view::{JobView, WorkerView};

/// Where to ask further about a job; paths on this server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobLinks {
    /// The job.
    #[serde(rename = "self")]
    pub this: String,
    /// Its proofs, once it succeeded.
    pub proof: String,
    /// The events of its life.
    pub timeline: String,
    /// Its changes as server-sent events.
    pub events: String,
}

impl JobLinks {
    /// Links of a job.
    #[must_use]
    pub fn of(job: JobId) -> Self {
        let this = format!("/v1/jobs/{job}");
        Self {
            proof: format!("{this}/proof"),
            timeline: format!("{this}/timeline"),
            events: format!("{this}/events"),
            this,
        }
    }
}

/// A job with its links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobAnswer {
    /// The job.
    #[serde(flatten)]
    pub job: JobView,
    /// Where to ask further.
    pub links: JobLinks,
}

impl From<JobView> for JobAnswer {
    fn from(job: JobView) -> Self {
        Self {
            links: JobLinks::of(job.id),
            job,
        }
    }
}

/// A page of jobs, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobsAnswer {
    /// The jobs.
    pub jobs: Vec<JobAnswer>,
    /// Path of the page of older jobs; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The proofs of a job; also the file that `proofmill proof --out` writes and `proofmill verify` reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProofAnswer {
    /// The job.
    #[schema(value_type = String)]
    pub id: JobId,
    /// Its trace.
    pub trace_id: String,
    /// The circuit program: names the verifying key.
    #[schema(value_type = String)]
    pub circuit: CircuitId,
    /// One proof a partition, in order.
    #[schema(value_type = Vec<Object>)]
    pub partitions: Vec<PartitionProof>,
    /// What the circuit program makes of them.
    pub output: serde_json::Value,
    /// Where to ask further.
    pub links: JobLinks,
}

/// The events of a job's life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimelineAnswer {
    /// The job.
    #[schema(value_type = String)]
    pub id: JobId,
    /// Its trace.
    pub trace_id: String,
    /// Events in order of time, on the cluster's clock.
    #[schema(value_type = Vec<Object>)]
    pub records: Vec<TimelineRecord>,
    /// Where to ask further.
    pub links: JobLinks,
}

/// The circuits that can be submitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CircuitsAnswer {
    /// The circuits.
    #[schema(value_type = Vec<Object>)]
    pub circuits: Vec<CircuitRecord>,
}

/// The live workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkersAnswer {
    /// The workers.
    pub workers: Vec<WorkerView>,
}
