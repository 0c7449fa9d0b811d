//! Section `[store]`: where keys, shapes and tuning results are kept on this machine.

use std::path::PathBuf;

use serde::Deserialize;

use super::raw::read;
use super::{ConfigError, Environment, RawConfig, Scalar};
use crate::distribution::ArtifactSource;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct StoreSection {
    home: Option<Scalar>,
    source: Option<Scalar>,
}

/// Where the local store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// `store.home`, in the environment `PROOFMILL_HOME`: folder of the store. Default: `$XDG_DATA_HOME/proofmill`, else
    /// `$HOME/.local/share/proofmill`.
    pub home: PathBuf,
    /// `store.source`: a coordinator from which shapes and keys are fetched that are not there, such as
    /// `http://coordinator:7311`; synth workers give it the shapes it lacks. Default: none, what is missing is an error.
    pub source: Option<ArtifactSource>,
}

impl StoreSettings {
    /// Finds the store; makes nothing.
    ///
    /// # Errors
    /// [`ConfigError::NoHome`] if neither the configuration nor the environment gives a place;
    /// [`ConfigError::BadValue`] if `store.home` is empty.
    pub fn from_raw(raw: &RawConfig, environment: &Environment) -> Result<Self, ConfigError> {
        let configured: Option<PathBuf> = read!(raw.store.home)?;
        if configured
            .as_ref()
            .is_some_and(|path| path.as_os_str().is_empty())
        {
            return Err(raw.refuse("store.home", "expected a folder"));
        }
        let home = configured
            .or_else(|| data_folder(environment).map(|folder| folder.join("proofmill")))
            .ok_or(ConfigError::NoHome)?;
        let source: Option<String> = read!(raw.store.source)?;
        let source = source
            .map(|url| ArtifactSource::new(&url))
            .transpose()
            .map_err(|error| raw.refuse("store.source", error))?;
        Ok(Self { home, source })
    }
}

/// The XDG data folder; a relative one counts as absent, as the XDG specification says.
fn data_folder(environment: &Environment) -> Option<PathBuf> {
    let absolute = |name| {
        environment
            .get(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
}
