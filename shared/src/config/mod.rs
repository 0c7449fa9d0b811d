//! Configuration: one TOML file, `PROOFMILL_*` environment, flags, in rising order.
//!
//! *Layout*: `environment` (the process's variables, read once), `sources` (the layers and how they merge), `raw` (keys
//! as written), `units` (byte sizes and durations), `error` (what can be wrong); then one file per section with its
//! checked settings: `broker`, `coordinator`, `synth_worker`, `gpu_worker`, `telemetry`, `store`; `identity` (worker ids
//! that nobody chose); `memory` (what this process may use).
//!
//! An unknown key is an error wherever it stands; a value is checked only by the process whose section it is in, so that
//! one file can serve processes of several versions and machines.

mod broker;
mod coordinator;
mod environment;
mod error;
mod gpu_worker;
mod identity;
mod memory;
mod raw;
mod sources;
mod store;
mod synth_worker;
mod telemetry;
mod units;

pub use self::broker::{BrokerSettings, PREFIX_DEFAULT, PREFIX_LEN_MAX, URL_DEFAULT};
pub use self::coordinator::{
    CoordinatorSettings, INPUT_BYTES_MAX_DEFAULT, LISTEN_DEFAULT, LOOKAHEAD_DEFAULT, LOOKAHEAD_MAX,
    QUEUE_MAX_DEFAULT, RETENTION_DEFAULT,
};
pub use self::environment::Environment;
pub use self::error::ConfigError;
pub use self::gpu_worker::{
    GPU_PREFETCH_DEFAULT, GpuWorkerSettings, KEY_BUDGET_BYTES_DEFAULT, PREFETCH_MAX, ShapeResidency,
};
pub use self::identity::{default_id, host_name};
pub use self::memory::{ASSIGNMENT_BUDGET_PERCENT, assignment_budget_default, memory_limit};
pub use self::raw::{RawConfig, Scalar};
pub use self::sources::{ConfigSources, DEFAULT_FILE, FILE_BYTES_MAX, Flags};
pub use self::store::StoreSettings;
pub use self::synth_worker::{
    HandoffChoice, SLOTS_DEFAULT, SLOTS_MAX, SYNTH_PREFETCH_DEFAULT, SynthWorkerSettings,
};
pub use self::telemetry::{LOG_DEFAULT, LogFormat, TelemetrySettings};
pub use self::units::{ByteSize, HumanDuration, UnitError};
