//! Ids of processes that nobody named.

use rand::Rng;

use super::{ConfigError, RawConfig, Scalar};
use crate::protocol::WorkerId;

/// Longest part of the host name that goes into an id: leaves room for the role and the suffix.
const HOST_LEN_MAX: usize = 40;

/// Makes the id of a process that nobody named: `<host>-<role>-<4 hex digits>`, fresh at every start.
///
/// Characters of the host name that an id may not hold become `-`.
///
/// # Panics
/// If `role` holds characters that an id may not hold: it is a literal of this program.
#[must_use]
pub fn default_id(role: &'static str) -> WorkerId {
    let host = hostname::get().map_or_else(
        |_| "host".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    let host: String = host
        .chars()
        .take(HOST_LEN_MAX)
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
                c
            } else {
                '-'
            }
        })
        .collect();
    let suffix: u16 = rand::thread_rng().r#gen();
    WorkerId::new(format!("{host}-{role}-{suffix:04x}"))
        .expect("host is cleaned and cut, role is a short literal")
}

/// Reads an id, or makes one if none was written.
pub(super) fn id_or_default(
    raw: &RawConfig,
    key: &str,
    value: Option<&Scalar>,
    role: &'static str,
) -> Result<WorkerId, ConfigError> {
    match value {
        None => Ok(default_id(role)),
        Some(value) => WorkerId::new(value.as_str()).map_err(|error| raw.refuse(key, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_nobody_chose_names_the_role_and_ends_in_four_hex_digits() {
        let id = default_id("gpu");
        let (head, suffix) = id.as_str().rsplit_once('-').unwrap();
        assert!(head.ends_with("-gpu"));
        assert_eq!(suffix.len(), 4);
        assert!(suffix.chars().all(|c| c.is_ascii_hexdigit()));
    }
}
