//! Reads a request's body under the limits: size, silence, duration, and the memory all bodies share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_web::HttpRequest;
use actix_web::http::header::CONTENT_LENGTH;
use actix_web::web::{Bytes, BytesMut, Payload};
use futures::StreamExt;
use tokio::time::timeout;

use super::limits::{BODY_STALL_TIMEOUT, BODY_TIMEOUT};
use super::problem::{ProblemCode, Refusal};

/// Bytes that all bodies may hold at a time.
#[derive(Debug)]
pub(crate) struct BodyBudget {
    free: AtomicUsize,
}

impl BodyBudget {
    /// A budget of so many bytes.
    pub(crate) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            free: AtomicUsize::new(bytes),
        })
    }

    fn take(&self, bytes: usize) -> bool {
        self.free
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| {
                free.checked_sub(bytes)
            })
            .is_ok()
    }
}

/// A body, with the part of the budget it holds until it is dropped.
#[derive(Debug)]
pub(crate) struct Body {
    /// What the client sent.
    pub(crate) bytes: Bytes,
    _reserved: Reservation,
}

#[derive(Debug)]
struct Reservation {
    budget: Arc<BodyBudget>,
    bytes: usize,
}

impl Reservation {
    fn grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        if !self.budget.take(bytes) {
            return Err(Refusal::new(
                ProblemCode::Busy,
                "the bodies of other requests fill the memory set aside for them",
            ));
        }
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.free.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read_body(
    request: &HttpRequest,
    payload: Payload,
    limit: usize,
    budget: &Arc<BodyBudget>,
) -> Result<Body, Refusal> {
    if announced_length(request).is_some_and(|length| length > limit as u64) {
        return Err(too_large(limit));
    }
    let reserved = Reservation {
        budget: Arc::clone(budget),
        bytes: 0,
    };
    timeout(BODY_TIMEOUT, collect(payload, limit, reserved))
        .await
        .map_err(|_| {
            let seconds = BODY_TIMEOUT.as_secs();
            Refusal::new(
                ProblemCode::BodyTimeout,
                format!("the body was not complete after {seconds} s"),
            )
        })?
}

async fn collect(
    mut payload: Payload,
    limit: usize,
    mut reserved: Reservation,
) -> Result<Body, Refusal> {
    let mut bytes = BytesMut::new();
    loop {
        let Some(piece) = next_piece(&mut payload).await? else {
            break;
        };
        if bytes.len() + piece.len() > limit {
            return Err(too_large(limit));
        }
        reserved.grow(piece.len())?;
        bytes.extend_from_slice(&piece);
    }
    Ok(Body {
        bytes: bytes.freeze(),
        _reserved: reserved,
    })
}

/// The next piece of a body, `None` at its end; refuses a body that stalls or breaks off.
pub(crate) async fn next_piece(payload: &mut Payload) -> Result<Option<Bytes>, Refusal> {
    let piece = timeout(BODY_STALL_TIMEOUT, payload.next())
        .await
        .map_err(|_| {
            let seconds = BODY_STALL_TIMEOUT.as_secs();
            Refusal::new(
                ProblemCode::BodyTimeout,
                format!("no byte of the body arrived for {seconds} s"),
            )
        })?;
    piece
        .transpose()
        .map_err(|error| Refusal::new(ProblemCode::BadBody, format!("body broke off: {error}")))
}

fn announced_length(request: &HttpRequest) -> Option<u64> {
    let header = request.headers().get(CONTENT_LENGTH)?;
    header.to_str().ok()?.parse().ok()
}

fn too_large(limit: usize) -> Refusal {
    Refusal::new(
        ProblemCode::BodyTooLarge,
        format!("the body is larger than the limit of {limit} bytes"),
    )
}
