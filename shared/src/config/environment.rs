//! The process's environment variables, read once.

use std::collections::BTreeMap;
use std::fmt;

/// What all of Proofmill's variables start with.
const PREFIX: &str = "PROOFMILL_";

/// What separates a section from its key: `PROOFMILL_BROKER__URL` is `broker.url`.
const SEPARATOR: &str = "__";

/// Variables with the prefix that are no configuration keys: the client's address and key.
const RESERVED: [&str; 2] = ["PROOFMILL_URL", "PROOFMILL_API_KEY"];

/// Short names of keys that people set by hand.
const ALIASES: [(&str, [&str; 2]); 2] = [
    ("PROOFMILL_HOME", ["store", "home"]),
    ("PROOFMILL_LOG", ["telemetry", "log"]),
];

/// A snapshot of environment variables. `Debug` prints names only: values may be secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// Reads the variables of this process; those that are not text are left out.
    #[must_use]
    pub fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The value of a variable; an empty one counts as absent.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Variables that name configuration keys, with the path of the key: section, then name, in lower case. Empty short
    /// names count as absent.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&str, Vec<String>, &str)> {
        self.variables.iter().filter_map(|(name, value)| {
            let key = name.strip_prefix(PREFIX)?;
            if RESERVED.contains(&name.as_str()) {
                return None;
            }
            let path = match ALIASES.iter().find(|(alias, _)| alias == name) {
                Some(_) if value.is_empty() => return None,
                Some((_, path)) => path.map(str::to_owned).to_vec(),
                None => key
                    .to_lowercase()
                    .split(SEPARATOR)
                    .map(str::to_owned)
                    .collect(),
            };
            Some((name.as_str(), path, value.as_str()))
        })
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self {
            variables: variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}
