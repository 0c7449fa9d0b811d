//! The API over a real server on a free port.
//!
//! *Layout*: `fixture` (a server, a client, jobs to ask for), `refusals` (every kind of bad request),
//! `jobs` (jobs on a real coordinator), `description`
//! (the OpenAPI document against what is served), `slow_clients` (limits of time and size on raw sockets).

mod description;
mod fixture;
mod jobs;
mod refusals;
mod slow_clients;
