//! The assignment codec: how a witness travels from synthesis to proving.
//!
//! *Layout*: `header` (which assignment), `block` (scalars in the smallest encoding), `chunk` (whole blocks, one broker
//! entry), `manifest` (the list that makes chunks readable); `encoder` (assignment to chunks, in parallel), `decoder`
//! (chunks in order into the final vectors), `collector` (chunks as they arrive, checked against the manifest);
//! `publisher` and `fetcher` (both over a broker); `budget` (the memory that a worker's assignments share); `sizes` (how
//! large it was on its way); `scalar`, `reader` (numbers and bytes); `error`, `failure` (causes, and what they mean for a
//! job); `fuzzing` (any bytes as entries, for tests).
//!
//! **Invariant**: any bytes give the assignment that was coded or a typed error, within the memory that the expected
//! counts justify. **Invariant**: nothing is handed out before the manifest is there and every check has passed.

mod block;
mod budget;
mod chunk;
mod collector;
mod decoder;
mod encoder;
mod error;
mod failure;
mod fetcher;
#[cfg(any(test, feature = "testing"))]
pub mod fuzzing;
mod header;
mod manifest;
mod publisher;
mod reader;
mod scalar;
mod sizes;
#[cfg(test)]
mod tests;

pub use self::block::EncodingMix;
pub use self::budget::{AssignmentBudget, BudgetError, BudgetShare};
pub use self::chunk::{CHUNK_BYTES_MAX, CHUNK_BYTES_MIN, ChunkPlan, EncodedChunk};
pub use self::collector::{AssignmentCollector, HELD_CHUNKS_MAX};
pub use self::encoder::{AssignmentEncoder, ENCODE_BLOCKS_MAX};
pub use self::error::{AssignmentVector, CodecError};
pub use self::failure::{FetchError, PublishError};
pub use self::fetcher::{
    AssignmentFetcher, DECODE_BYTES_MAX, DECODE_QUEUE, FETCH_STALL_LIMIT, FetchReport,
    FetchedAssignment, SPARES_MAX,
};
pub use self::header::{
    AssignmentFacts, BLOCK_LEN_MAX, BLOCK_LEN_MIN, CODEC_VERSION, HEADER_BYTES, Header,
    PayloadMode, VARIABLES_MAX,
};
pub use self::manifest::{ChunkEntry, Manifest};
pub use self::publisher::{
    AssignmentPublisher, BROKER_OUTAGE_LIMIT, ENCODE_BYTES_MAX, FULL_BROKER_LIMIT, PAYLOAD_TTL,
    SEND_QUEUE, SEND_WINDOW, ShippedReport,
};
pub use self::sizes::PayloadSizes;
