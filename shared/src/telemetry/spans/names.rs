//! Every span name. Children are listed under their parent; all others are children of the job's root.

/// The job's root: written at acceptance, short-lived, under an id that the job's record keeps.
pub const JOB_SUBMIT: &str = "job.submit";
/// The job's whole life, written when it ends.
pub const JOB: &str = "job";

/// From the assignment of a synthesis task to its start.
pub const SYNTH_WAIT: &str = "synth.wait";
/// Synthesis of one partition (also planning and finishing, by the attribute `unit`).
pub const SYNTH: &str = "synth";
/// Within `synth`: the circuit program computes the witness.
pub const SYNTH_WITNESS: &str = "synth.witness";
/// Within `synth`: the witness is checked against the constraints.
pub const SYNTH_CHECK: &str = "synth.check";

/// The assignment is encoded.
pub const HANDOFF_ENCODE: &str = "handoff.encode";
/// First chunk to accepted manifest.
pub const HANDOFF_SEND: &str = "handoff.send";
/// Manifest accepted to pickup by the GPU worker.
pub const HANDOFF_WAIT: &str = "handoff.wait";
/// Pickup to an assignment that is fetched, decoded and checked.
pub const HANDOFF_FETCH: &str = "handoff.fetch";

/// Fetched to the start on the device: the wait behind another proof, or for a key.
pub const GPU_WAIT: &str = "gpu.wait";
/// The device's work on one proof.
pub const GPU_PROVE: &str = "gpu.prove";
/// Within `gpu.prove`: the constraint evaluations a, b, c.
pub const GPU_EVALUATE: &str = "gpu.evaluate";
/// Within `gpu.prove`: the number-theoretic transforms, up to the quotient h.
pub const GPU_NTT: &str = "gpu.ntt";
/// Within `gpu.prove`: the multi-scalar multiplication over the h query.
pub const GPU_MSM_H: &str = "gpu.msm.h";
/// Within `gpu.prove`: the multi-scalar multiplication over the l query.
pub const GPU_MSM_L: &str = "gpu.msm.l";
/// Within `gpu.prove`: the multi-scalar multiplication over the a query.
pub const GPU_MSM_A: &str = "gpu.msm.a";
/// Within `gpu.prove`: the multi-scalar multiplication over the b query in G1.
pub const GPU_MSM_B_G1: &str = "gpu.msm.b_g1";
/// Within `gpu.prove`: the multi-scalar multiplication over the b query in G2.
pub const GPU_MSM_B_G2: &str = "gpu.msm.b_g2";
/// Within `gpu.prove`: the proof is put together.
pub const GPU_ASSEMBLE: &str = "gpu.assemble";

/// The proof is verified before it is reported.
pub const PROOF_VERIFY: &str = "proof.verify";
/// The proofs of all partitions are joined into the job's output.
pub const JOB_FINISH: &str = "job.finish";
