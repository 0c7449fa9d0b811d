//! This machine's store of shapes and keys, where the configuration says it is.

use std::path::Path;

use proofmill_shared::config::{ConfigSources, Environment, Flags, StoreSettings};
use proofmill_shared::groth16::{Check, ProvingKey, Shape, Store};

use crate::error::CliError;

/// Names the store; makes nothing.
pub(crate) fn open() -> Result<Store, CliError> {
    let environment = Environment::of_process();
    let raw = ConfigSources::load(None, &environment, &Flags::new())?;
    Ok(Store::new(
        StoreSettings::from_raw(&raw, &environment)?.home,
    ))
}

/// Opens the key of a circuit, checked in full: from a file, else from the store.
pub(crate) fn key(shape: &Shape, file: Option<&Path>) -> Result<ProvingKey, CliError> {
    let store = open()?;
    let (key, path) = match file {
        Some(path) => {
            let key = ProvingKey::open(path, Check::Full);
            (
                key.map_err(|error| CliError::key(path, error))?,
                path.to_owned(),
            )
        }
        None => (store.open_key(shape.digest)?, store.key_path(shape.digest)),
    };
    key.fits(shape)
        .map_err(|error| CliError::key(&path, error))?;
    Ok(key)
}
