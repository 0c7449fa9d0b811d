//! Whole clusters of real processes over a real Redis: one scenario a file, its name a sentence.
//!
//! | scenario | what it pins down |
//! |---|---|
//! | `jobs_of_real_files_all_verify` | proofs verify against the key, the digests are those of the files, one trace a job over three services |
//! | `killed_workers_lose_no_job` | a synth worker and a GPU worker killed mid-way: every job still ends with a valid proof |
//! | `a_bare_gpu_worker_proves` | shape summary and key come from the coordinator, evaluations with the assignment, all of it sealed |
//! | `a_killed_coordinator_finds_its_jobs_again` | state is rebuilt from Redis, results that arrived meanwhile are found |
//! | `a_paused_gpu_worker_fills_no_memory` | 500 jobs and nobody who proves: payload stays below its budget, and all are proved in the end |
//! | `terminated_processes_leave_in_peace` | SIGTERM hands work back, flushes, and exits 0 |
//!
//! Build the binaries first: `cargo build --release --workspace`. The tier `full` (`TEST_TIER=full`) runs the same
//! scenarios with more jobs.

mod a_bare_gpu_worker_proves;
mod a_killed_coordinator_finds_its_jobs_again;
mod a_paused_gpu_worker_fills_no_memory;
mod harness;
mod jobs_of_real_files_all_verify;
mod killed_workers_lose_no_job;
mod terminated_processes_leave_in_peace;
