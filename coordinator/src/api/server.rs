//! Binds the address and runs the server.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use actix_web::dev::Server;
use actix_web::middleware::{DefaultHeaders, from_fn};
use actix_web::web::Data;
use actix_web::{App, HttpServer};
use proofmill_shared::telemetry::ClusterClock;

use super::artifacts::ArtifactConfig;
use super::body::BodyBudget;
use super::guard::refuse_foreign_pages;
use super::limits::{
    BODY_BUDGET_INPUTS, CONNECTIONS_PER_THREAD, DISCONNECT_TIMEOUT, HEAD_TIMEOUT,
    JSON_FRAME_BYTES_MAX, KEEP_ALIVE, SERVER_THREADS, SHUTDOWN_TIMEOUT,
};
use super::routes::routes;
use crate::handle::CoordinatorHandle;

/// How the API is served.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// True allows an address that other machines reach, without keys and without TLS: for use behind a proxy.
    pub is_insecure_allowed: bool,
    /// Largest input of a job, in bytes.
    pub input_bytes_max: usize,
    /// The cluster's clock, for deadlines that count from now.
    pub clock: ClusterClock,
    /// What of this machine's store is given away.
    pub artifacts: ArtifactConfig,
}

/// Why the API cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Others could reach it, and there is nothing to tell friends from strangers.
    #[error(
        "{listen} can be reached from other machines and needs API keys, which this version does not have: listen on loopback, or pass --insecure-http behind a proxy that checks its clients"
    )]
    NotLoopback {
        /// The address.
        listen: SocketAddr,
    },
    /// Another process listens there.
    #[error(
        "{listen} is in use by another process: stop it, or choose another address with --listen"
    )]
    PortTaken {
        /// The address.
        listen: SocketAddr,
    },
    /// The system refuses the address for another reason.
    #[error("cannot listen on {listen}: choose another address with --listen")]
    Bind {
        /// The address.
        listen: SocketAddr,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

/// What every endpoint needs.
pub(crate) struct ApiState {
    pub(crate) handle: CoordinatorHandle,
    pub(crate) clock: ClusterClock,
    pub(crate) artifacts: ArtifactConfig,
    pub(crate) input_bytes_max: usize,
    pub(crate) body_budget: Arc<BodyBudget>,
    pub(crate) is_loopback: bool,
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiState").finish_non_exhaustive()
    }
}

/// Binds the address and answers with the server, to be awaited, and the address it really has.
///
/// The server ends when it is told to through [`Server::handle`]; it listens to no signal itself.
///
/// # Errors
/// [`ServeError::NotLoopback`] for an address that other machines reach, unless that is allowed;
/// [`ServeError::PortTaken`] and [`ServeError::Bind`] if the address is not to be had.
pub fn serve(
    handle: CoordinatorHandle,
    config: ApiConfig,
) -> Result<(Server, SocketAddr), ServeError> {
    let listen = config.listen;
    let is_loopback = listen.ip().is_loopback();
    if !is_loopback && !config.is_insecure_allowed {
        return Err(ServeError::NotLoopback { listen });
    }
    let budget = BODY_BUDGET_INPUTS * (config.input_bytes_max / 3 * 4 + JSON_FRAME_BYTES_MAX);
    let state = Data::new(ApiState {
        handle,
        clock: config.clock,
        artifacts: config.artifacts,
        input_bytes_max: config.input_bytes_max,
        body_budget: BodyBudget::new(budget),
        is_loopback,
    });
    let server = HttpServer::new(move || {
        App::new()
            .app_data(state.clone())
            .wrap(from_fn(refuse_foreign_pages))
            .wrap(security_headers())
            .configure(routes)
    })
    .workers(SERVER_THREADS)
    .max_connections(CONNECTIONS_PER_THREAD)
    .client_request_timeout(HEAD_TIMEOUT)
    .client_disconnect_timeout(DISCONNECT_TIMEOUT)
    .keep_alive(KEEP_ALIVE)
    .shutdown_timeout(SHUTDOWN_TIMEOUT.as_secs())
    .disable_signals()
    .bind(listen)
    .map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::PortTaken { listen },
        _ => ServeError::Bind { listen, source },
    })?;
    let address = server.addrs().first().copied().unwrap_or(listen);
    Ok((server.run(), address))
}

fn security_headers() -> DefaultHeaders {
    DefaultHeaders::new()
        .add(("X-Content-Type-Options", "nosniff"))
        .add(("X-Frame-Options", "DENY"))
        .add(("Referrer-Policy", "no-referrer"))
        .add(("Cache-Control", "no-store"))
        .add((
            "Content-Security-Policy",
            "default-src 'none'; frame-ancestors 'none'",
        ))
}
