//! `GET /v1/shapes/{digest}`, `PUT /v1/shapes/{digest}`, `GET /v1/keys/{digest}`: what workers lack, by digest, in ranges.

use std::path::Path;

use actix_files::NamedFile;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use actix_web::web::{self, Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use proofmill_shared::distribution::{DIGEST_HEADER, SHAPE_BYTES_MAX};
use proofmill_shared::groth16::{Store, StoreError};
use proofmill_shared::protocol::Digest;
use tokio::io::AsyncWriteExt;
use uuid::Uuid;

use super::body::next_piece;
use super::path::DigestPath;
use super::problem::{Problem, ProblemCode, Refusal};
use super::server::ApiState;

/// What of this machine's store the API gives away.
#[derive(Debug, Clone)]
pub struct ArtifactConfig {
    /// The store, if there is one; its shapes are always given, and more are taken.
    pub store: Option<Store>,
    /// True if keys are given too.
    pub is_key_served: bool,
}

/// Sends a shape.
#[utoipa::path(
    get,
    path = "/v1/shapes/{digest}",
    params(("digest" = String, Path, description = "BLAKE3 digest of the shape, in hex")),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 206, description = "The range that was asked for"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn get_shape(
    request: HttpRequest,
    state: Data<ApiState>,
    DigestPath(shape): DigestPath,
) -> Result<HttpResponse, Refusal> {
    send(&request, &store(&state)?.shape_path(shape), shape).await
}

/// Sends the key of the circuit whose shape has this digest.
#[utoipa::path(
    get,
    path = "/v1/keys/{digest}",
    params(("digest" = String, Path, description = "BLAKE3 digest of the circuit's shape, in hex")),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 206, description = "The range that was asked for"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn get_key(
    request: HttpRequest,
    state: Data<ApiState>,
    DigestPath(shape): DigestPath,
) -> Result<HttpResponse, Refusal> {
    if !state.artifacts.is_key_served {
        return Err(Refusal::new(
            ProblemCode::KeysNotServed,
            "this coordinator does not give keys away",
        ));
    }
    let store = store(&state)?;
    let Some(digest) = store.checked_key(shape).map_err(store_fault)? else {
        let detail = format!("no checked key for shape {shape} is in the coordinator's store");
        return Err(Refusal::new(ProblemCode::UnknownArtifact, detail));
    };
    send(&request, &store.key_path(shape), digest).await
}

/// Takes the shape of a registered circuit.
#[utoipa::path(
    put,
    path = "/v1/shapes/{digest}",
    params(("digest" = String, Path, description = "BLAKE3 digest of the shape, in hex")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 201, description = "Kept"),
        (status = 204, description = "It was there"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn put_shape(
    request: HttpRequest,
    state: Data<ApiState>,
    DigestPath(shape): DigestPath,
    payload: Payload,
) -> Result<HttpResponse, Refusal> {
    let store = store(&state)?;
    if request
        .headers()
        .get(CONTENT_TYPE)
        .map(HeaderValue::as_bytes)
        != Some(b"application/octet-stream")
    {
        return Err(Refusal::new(
            ProblemCode::BadMediaType,
            "a shape is application/octet-stream",
        ));
    }
    if store.shape_path(shape).exists() {
        return Ok(HttpResponse::NoContent().finish());
    }
    // Shapes of registered circuits only: nobody fills the disk with others.
    let circuits = state.handle.circuits().await?;
    if !circuits.iter().any(|circuit| circuit.shape == shape) {
        let detail = format!("no registered circuit has shape {shape}");
        return Err(Refusal::new(ProblemCode::UnknownArtifact, detail));
    }
    let path = store.shape_path(shape);
    let temporary = path.with_extension(format!("{}.tmp", Uuid::now_v7().simple()));
    let received = receive(payload, &temporary).await;
    let kept = match received {
        Ok(()) => {
            let (store, file) = (store.clone(), temporary.clone());
            web::block(move || store.adopt_shape(shape, &file))
                .await
                .map_err(|error| fault(error.to_string()))
                .and_then(|adopted| adopted.map_err(store_fault))
        }
        Err(refusal) => Err(refusal),
    };
    match kept {
        Ok(_) => Ok(HttpResponse::Created().finish()),
        Err(refusal) => {
            // What did come is of no use.
            drop(tokio::fs::remove_file(&temporary).await);
            Err(refusal)
        }
    }
}

fn store(state: &ApiState) -> Result<&Store, Refusal> {
    state.artifacts.store.as_ref().ok_or_else(|| {
        Refusal::new(
            ProblemCode::UnknownArtifact,
            "this coordinator has no store: neither store.home nor HOME is set",
        )
    })
}

async fn receive(mut payload: Payload, path: &Path) -> Result<(), Refusal> {
    let io = |error: std::io::Error| fault(format!("the store cannot be written: {error}"));
    if let Some(folder) = path.parent() {
        tokio::fs::create_dir_all(folder).await.map_err(io)?;
    }
    let mut file = tokio::fs::File::create(path).await.map_err(io)?;
    let mut received = 0;
    while let Some(piece) = next_piece(&mut payload).await? {
        received += piece.len() as u64;
        if received > SHAPE_BYTES_MAX {
            let detail = format!("the shape is larger than the limit of {SHAPE_BYTES_MAX} bytes");
            return Err(Refusal::new(ProblemCode::BodyTooLarge, detail));
        }
        file.write_all(&piece).await.map_err(io)?;
    }
    file.flush().await.map_err(io)
}

/// Sends a file whose content has this digest: whole, or the range that was asked for.
async fn send(request: &HttpRequest, path: &Path, digest: Digest) -> Result<HttpResponse, Refusal> {
    let file = match NamedFile::open_async(path).await {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let detail = format!("nothing of digest {digest} is in the coordinator's store");
            return Err(Refusal::new(ProblemCode::UnknownArtifact, detail));
        }
        Err(error) => return Err(fault(format!("the store cannot be read: {error}"))),
    };
    let mut response = file
        .use_last_modified(false)
        .prefer_utf8(false)
        .set_content_type(mime::APPLICATION_OCTET_STREAM)
        .disable_content_disposition()
        .into_response(request);
    if response.status() == StatusCode::PRECONDITION_FAILED {
        return Err(Refusal::new(
            ProblemCode::OtherContent,
            "the content is not that of the If-Match header any more",
        ));
    }
    let digest = HeaderValue::from_str(&digest.to_string());
    let digest = digest.map_err(|error| fault(error.to_string()))?;
    let name = HeaderName::from_static(DIGEST_HEADER);
    response.headers_mut().insert(name, digest);
    Ok(response.map_into_boxed_body())
}

fn fault(detail: String) -> Refusal {
    Refusal::new(ProblemCode::StoreFault, detail)
}

fn store_fault(error: StoreError) -> Refusal {
    match error {
        StoreError::Shape { source, .. } => Refusal::new(
            ProblemCode::BadArtifact,
            format!("the body is not a shape: {source}"),
        ),
        StoreError::Misnamed { found, .. } => Refusal::new(
            ProblemCode::BadArtifact,
            format!("the body has digest {found}"),
        ),
        error => fault(error.to_string()),
    }
}
