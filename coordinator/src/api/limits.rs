//! Every limit of the API, with its reason.

use std::time::Duration;

/// What a JSON body may hold beside its input (circuit, deadline, expected public inputs), in bytes.
pub(crate) const JSON_FRAME_BYTES_MAX: usize = 1024 * 1024;

/// Bodies held in memory at a time, as a multiple of the largest input: many large submissions wait their turn instead
/// of filling the memory.
pub(crate) const BODY_BUDGET_INPUTS: usize = 4;

/// Time for a request's head: a client that is slower holds a connection for nothing.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest silence within a body: a slow link is fine, a stalled one is not.
pub(crate) const BODY_STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for a whole body: the largest input at about 1 MiB a second.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(120);

/// Time for a client to close a connection that is done.
pub(crate) const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long an idle connection is kept for the next request.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// Threads that serve requests: they only wait for the coordinator, the CPU belongs to others.
pub(crate) const SERVER_THREADS: usize = 2;

/// Connections each thread serves at a time, long polls and event streams included; further ones wait to be accepted.
pub(crate) const CONNECTIONS_PER_THREAD: usize = 1024;

/// How long a stopping server waits for answers on their way; long polls are cut and their clients ask again.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Longest wait of a long poll: below the idle limit of common proxies (60 s).
pub const WAIT_MAX: Duration = Duration::from_secs(55);

/// Jobs in one page at most.
pub const JOBS_PER_PAGE_MAX: usize = 500;

/// Jobs in one page unless the client says otherwise.
pub(crate) const JOBS_PER_PAGE_DEFAULT: usize = 50;

/// Pause between comments that keep an event stream alive through proxies.
pub(crate) const EVENTS_HEARTBEAT: Duration = Duration::from_secs(15);
