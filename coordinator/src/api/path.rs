//! Ids and digests out of paths.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use proofmill_shared::protocol::{Digest, JobId};

use super::problem::{ProblemCode, Refusal};

/// The digest that a path names as `{digest}`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DigestPath(pub(crate) Digest);

impl FromRequest for DigestPath {
    type Error = Refusal;
    type Future = Ready<Result<Self, Refusal>>;

    fn from_request(request: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        let digest = request.match_info().query("digest").parse();
        let refuse = |error: proofmill_shared::protocol::IdError| {
            Refusal::new(ProblemCode::BadPath, error.to_string())
        };
        ready(digest.map(Self).map_err(refuse))
    }
}

/// The job that a path names as `{id}`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobPath(pub(crate) JobId);

impl FromRequest for JobPath {
    type Error = Refusal;
    type Future = Ready<Result<Self, Refusal>>;

    fn from_request(request: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        let id = request.match_info().query("id").parse();
        ready(
            id.map(Self)
                .map_err(|error: proofmill_shared::protocol::IdError| {
                    Refusal::new(ProblemCode::BadPath, error.to_string())
                }),
        )
    }
}
