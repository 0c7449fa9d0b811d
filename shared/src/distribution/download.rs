//! Downloads into the store.
//!
//! What came so far lies beside the file to be, as `.partial`, with the `ETag` it came under in `.partial-of`: after a broken
//! connection or a restart only the rest is asked for.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::blocking::Response;
use reqwest::header::{ETAG, HeaderName, IF_MATCH, RANGE};

use super::{Artifact, ArtifactSource, DIGEST_HEADER, DistributionError, client};
use crate::groth16::Store;
use crate::protocol::Digest;

/// Times that a download without any progress is tried again.
const TRIES: u32 = 4;

/// Pause before the first further try; doubles each time.
const PAUSE: Duration = Duration::from_millis(250);

/// Bytes read at a time.
const PIECE_BYTES: usize = 1 << 20;

/// The files of one download.
struct Place {
    partial: PathBuf,
    partial_of: PathBuf,
}

pub(super) fn fetch(
    source: &ArtifactSource,
    store: &Store,
    artifact: Artifact,
) -> Result<u64, DistributionError> {
    let path = match artifact {
        Artifact::Shape(digest) => store.shape_path(digest),
        Artifact::Key(shape) => store.key_path(shape),
    };
    if path.exists() {
        return Ok(0);
    }
    let failed = |path: &Path, source| DistributionError::Io {
        path: path.to_owned(),
        source,
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    }
    // Held until the end: another worker of this host waits here, and then finds the file.
    let lock_path = with_suffix(&path, "lock");
    let lock = File::create(&lock_path).map_err(|error| failed(&lock_path, error))?;
    lock.lock().map_err(|error| failed(&lock_path, error))?;
    if path.exists() {
        return Ok(0);
    }
    let place = Place {
        partial: with_suffix(&path, "partial"),
        partial_of: with_suffix(&path, "partial-of"),
    };
    tracing::info!(%artifact, from = source.url, "downloads what this machine lacks");
    let (digest, bytes) = bring(source, artifact, &place)?;
    let adopted = match artifact {
        Artifact::Shape(shape) => store.adopt_shape(shape, &place.partial),
        Artifact::Key(shape) => store.adopt_key(shape, digest, &place.partial),
    };
    place.forget();
    adopted.map_err(|error| DistributionError::Damaged {
        artifact,
        reason: error.to_string(),
    })?;
    tracing::info!(%artifact, bytes, "downloaded");
    Ok(bytes)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

impl Place {
    /// The tag and the number of the bytes that are there.
    fn begun(&self) -> Option<(String, u64)> {
        let of = fs::read_to_string(&self.partial_of).ok()?;
        let bytes = fs::metadata(&self.partial).ok()?.len();
        (bytes > 0).then_some((of, bytes))
    }

    fn forget(&self) {
        // Gone already is as well.
        fs::remove_file(&self.partial).ok();
        fs::remove_file(&self.partial_of).ok();
    }

    fn io(&self, source: io::Error) -> DistributionError {
        DistributionError::Io {
            path: self.partial.clone(),
            source,
        }
    }
}

/// Downloads, again and again as long as something comes; answers with the content's digest and the bytes that came.
fn bring(
    source: &ArtifactSource,
    artifact: Artifact,
    place: &Place,
) -> Result<(Digest, u64), DistributionError> {
    let client = client()?;
    let url = source.address(artifact);
    let (mut came, mut tries, mut pause) = (0, 0, PAUSE);
    loop {
        let begun = place.begun();
        let mut request = client.get(&url);
        if let Some((of, bytes)) = &begun {
            request = request
                .header(RANGE, format!("bytes={bytes}-"))
                .header(IF_MATCH, of);
        }
        let failure = match request.send() {
            Ok(response) => match response.status() {
                StatusCode::OK | StatusCode::PARTIAL_CONTENT => {
                    let (progress, end) = store_body(response, artifact, place)?;
                    came += progress;
                    if progress > 0 {
                        (tries, pause) = (0, PAUSE);
                    }
                    match end {
                        Ok(digest) => return Ok((digest, came)),
                        Err(error) => error,
                    }
                }
                // It changed meanwhile, or all of it is there and it is not what it should be.
                StatusCode::PRECONDITION_FAILED | StatusCode::RANGE_NOT_SATISFIABLE
                    if begun.is_some() =>
                {
                    place.forget();
                    "the content changed".to_owned()
                }
                status if status.is_server_error() => status.to_string(),
                status => {
                    return Err(DistributionError::refused(
                        artifact,
                        status,
                        response.text().ok(),
                    ));
                }
            },
            Err(error) => error.to_string(),
        };
        tries += 1;
        if tries >= TRIES {
            return Err(DistributionError::Unreachable {
                url: source.url.clone(),
                reason: failure,
            });
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "nothing is to be waited for but time: the other side is away"
        )]
        std::thread::sleep(pause);
        pause *= 2;
    }
}

/// Stores what an answer brings: the bytes stored, and the content's digest if it is complete, else what broke off.
fn store_body(
    mut response: Response,
    artifact: Artifact,
    place: &Place,
) -> Result<(u64, Result<Digest, String>), DistributionError> {
    let damaged = |reason: &str| DistributionError::Damaged {
        artifact,
        reason: reason.to_owned(),
    };
    let header = |name: HeaderName| {
        let value = response.headers().get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    let digest: Digest = header(HeaderName::from_static(DIGEST_HEADER))
        .and_then(|digest| digest.parse().ok())
        .ok_or_else(|| damaged("the answer does not say of which content it is"))?;
    let tag = header(ETAG).unwrap_or_default();
    let is_rest = response.status() == StatusCode::PARTIAL_CONTENT;
    let mut file = OpenOptions::new()
        .create(true)
        .write(true)
        .append(is_rest)
        .truncate(!is_rest)
        .open(&place.partial)
        .map_err(|error| place.io(error))?;
    fs::write(&place.partial_of, tag).map_err(|error| place.io(error))?;
    let mut stored = file.metadata().map_err(|error| place.io(error))?.len();
    let mut progress = 0u64;
    let mut piece = vec![0; PIECE_BYTES];
    let end = loop {
        match response.read(&mut piece) {
            Ok(0) => break Ok(digest),
            Ok(count) => {
                stored += count as u64;
                if stored > artifact.bytes_max() {
                    place.forget();
                    return Err(DistributionError::TooLarge {
                        artifact,
                        limit: artifact.bytes_max(),
                    });
                }
                file.write_all(&piece[..count])
                    .map_err(|error| place.io(error))?;
                progress += count as u64;
            }
            Err(error) => break Err(error.to_string()),
        }
    };
    file.sync_all().map_err(|error| place.io(error))?;
    Ok((progress, end))
}
