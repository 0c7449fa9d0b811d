//! How shapes and keys reach machines that lack them: by digest, from the coordinator, over HTTP.
//!
//! *Layout*: `download` (resumed where it broke off, checked before it is used), `error`.
//!
//! Both sides agree on paths and on headers: [`DIGEST_HEADER`] says which content it is, and `Range` with `If-Match` asks
//! for what is still missing. Nothing that comes this way is trusted: a shape must have the digest it was asked
//! for by, and a key passes the full check at its first load, as any key does.

mod download;
mod error;

use std::fs::File;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::blocking::{Body, Client};
use reqwest::header::RANGE;

pub use self::error::DistributionError;
use crate::groth16::{Shape, Store};
use crate::protocol::Digest;

/// Header of an answer: BLAKE3 digest of the whole content, in hex.
pub const DIGEST_HEADER: &str = "x-proofmill-digest";

/// Largest shape that is sent: that of a 32 GiB PoRep partition takes about 4.5 GB.
pub const SHAPE_BYTES_MAX: u64 = 16 << 30;

/// Largest key that is sent: that of a 32 GiB PoRep takes about 45 GB.
pub const KEY_BYTES_MAX: u64 = 128 << 30;

/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest silence of the other side.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Longest upload: of the largest shape at 10 MB/s.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(1800);

/// What can be had by digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Artifact {
    /// The shape of this digest.
    Shape(Digest),
    /// The key of the circuit whose shape has this digest.
    Key(Digest),
}

impl Artifact {
    /// Where the coordinator has it.
    #[must_use]
    pub fn path(&self) -> String {
        match self {
            Self::Shape(digest) => format!("/v1/shapes/{digest}"),
            Self::Key(digest) => format!("/v1/keys/{digest}"),
        }
    }

    /// Most bytes it may have.
    const fn bytes_max(self) -> u64 {
        match self {
            Self::Shape(_) => SHAPE_BYTES_MAX,
            Self::Key(_) => KEY_BYTES_MAX,
        }
    }
}

impl std::fmt::Display for Artifact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shape(digest) => write!(f, "shape {digest}"),
            Self::Key(digest) => write!(f, "key of shape {digest}"),
        }
    }
}

/// A coordinator that has shapes, and keys if its operator allows it. Calls block: make them on threads that may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactSource {
    url: String,
}

impl ArtifactSource {
    /// The coordinator at this base URL, such as `http://coordinator:7311`.
    ///
    /// # Errors
    /// [`DistributionError::BadUrl`] if it is none.
    pub fn new(url: &str) -> Result<Self, DistributionError> {
        let bad = || DistributionError::BadUrl {
            url: url.to_owned(),
        };
        let parsed = reqwest::Url::parse(url).map_err(|_| bad())?;
        if parsed.scheme() != "http" || parsed.host().is_none() {
            return Err(bad());
        }
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
        })
    }

    /// Brings a shape or key into the store, unless it is there. Several workers of one host may ask at once: one of them
    /// downloads. Answers with the bytes that were downloaded.
    ///
    /// # Errors
    /// Every [`DistributionError`].
    pub fn fetch(&self, store: &Store, artifact: Artifact) -> Result<u64, DistributionError> {
        download::fetch(self, store, artifact)
    }

    /// Brings the summary of a shape into the store, unless that or the shape is there: two short ranges of the file.
    ///
    /// # Errors
    /// Every [`DistributionError`].
    pub fn fetch_summary(&self, store: &Store, shape: Digest) -> Result<(), DistributionError> {
        if store.shape_path(shape).exists() || store.summary_path(shape).exists() {
            return Ok(());
        }
        let artifact = Artifact::Shape(shape);
        let client = client()?;
        let range = |range: String| {
            let asked = client
                .get(self.address(artifact))
                .header(RANGE, range)
                .send();
            let answer = asked.map_err(|error| self.unreachable(&error))?;
            if answer.status() != StatusCode::PARTIAL_CONTENT {
                let status = answer.status();
                return Err(DistributionError::refused(
                    artifact,
                    status,
                    answer.text().ok(),
                ));
            }
            answer.bytes().map_err(|error| self.unreachable(&error))
        };
        let damaged = |reason: String| DistributionError::Damaged { artifact, reason };
        let head = range(format!("bytes=0-{}", Shape::SUMMARY_HEAD_BYTES - 1))?;
        let tail = Shape::summary_tail_bytes(&head).map_err(|error| damaged(error.to_string()))?;
        let tail = range(format!("bytes=-{tail}"))?;
        store
            .put_summary(shape, &[head, tail].concat())
            .map_err(|error| damaged(error.to_string()))?;
        Ok(())
    }

    /// Gives a shape of the store to the coordinator, unless that has it; true if it was sent.
    ///
    /// # Errors
    /// [`DistributionError::Unreachable`], [`DistributionError::Refused`], [`DistributionError::Io`].
    pub fn offer_shape(&self, store: &Store, shape: Digest) -> Result<bool, DistributionError> {
        let client = client()?;
        let url = self.address(Artifact::Shape(shape));
        let asked = client.head(&url).send();
        let status = asked.map_err(|error| self.unreachable(&error))?.status();
        if status.is_success() {
            return Ok(false);
        }
        if status != StatusCode::NOT_FOUND {
            return Err(DistributionError::refused(
                Artifact::Shape(shape),
                status,
                None,
            ));
        }
        let path = store.shape_path(shape);
        let file = File::open(&path).map_err(|source| DistributionError::Io { path, source })?;
        let sent = client
            .put(&url)
            .header("content-type", "application/octet-stream")
            .timeout(UPLOAD_TIMEOUT)
            .body(Body::new(file))
            .send()
            .map_err(|error| self.unreachable(&error))?;
        let status = sent.status();
        if status.is_success() {
            return Ok(true);
        }
        let answer = sent.text().ok();
        Err(DistributionError::refused(
            Artifact::Shape(shape),
            status,
            answer,
        ))
    }

    fn address(&self, artifact: Artifact) -> String {
        format!("{}{}", self.url, artifact.path())
    }

    fn unreachable(&self, error: &reqwest::Error) -> DistributionError {
        DistributionError::Unreachable {
            url: self.url.clone(),
            reason: error.to_string(),
        }
    }
}

fn client() -> Result<Client, DistributionError> {
    Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        // Of each read, not of the whole exchange: a key may take an hour.
        .timeout(STALL_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| DistributionError::NoClient {
            reason: error.to_string(),
        })
}
