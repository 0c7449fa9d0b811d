//! Idempotency keys: the same key and the same request name the same job.

use actix_web::http::header::HeaderMap;

use super::problem::{ProblemCode, Refusal};

/// Longest idempotency key, in characters.
pub const IDEMPOTENCY_KEY_LEN_MAX: usize = 255;

/// True for 1 to [`IDEMPOTENCY_KEY_LEN_MAX`] visible ASCII characters without spaces.
#[must_use]
pub fn is_idempotency_key(key: &str) -> bool {
    (1..=IDEMPOTENCY_KEY_LEN_MAX).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Reads the header `Idempotency-Key`, if there is one.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(key) if is_idempotency_key(key) => Ok(Some(key.to_owned())),
        _ => Err(Refusal::new(
            ProblemCode::BadHeader,
            format!(
                "idempotency-key: expected 1 to {IDEMPOTENCY_KEY_LEN_MAX} visible ASCII characters without spaces"
            ),
        )),
    }
}
