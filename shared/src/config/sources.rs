//! The layers of a configuration and how they merge: a later layer wins key by key.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use figment::error::Kind;
use figment::providers::{Format, Serialized, Toml};
use figment::value::{Dict, Value};
use figment::{Figment, Profile, Provider};

use super::{ConfigError, Environment, RawConfig};

/// Read if it is there and `--config` names no other.
pub const DEFAULT_FILE: &str = "./proofmill.toml";

/// Largest configuration file, in bytes: a hundred times the fully commented one, so that a wrong path to a key file does
/// not fill the memory.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Where the configuration of a process comes from.
#[derive(Debug)]
pub struct ConfigSources;

/// What the command line says: keys such as `gpu_worker.device` with their values. The last layer.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    values: Vec<(&'static str, String)>,
}

impl Flags {
    /// No flag given.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a flag, if it was given.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: Option<impl ToString>) -> Self {
        self.values
            .extend(value.map(|value| (key, value.to_string())));
        self
    }
}

/// One source with the origin of each of its keys.
struct Layer {
    values: Dict,
    /// What errors call the source as a whole.
    name: String,
    /// Names of single keys, where they have their own: the variable of an environment key.
    names: BTreeMap<String, String>,
}

impl ConfigSources {
    /// Reads the file (`path`, else [`DEFAULT_FILE`] if it is there), the environment and the flags, in rising order.
    ///
    /// # Errors
    /// [`ConfigError::Unreadable`], [`ConfigError::TooLarge`] or [`ConfigError::Syntax`] for the file;
    /// [`ConfigError::UnknownKey`] for a key that no process knows, wherever it is written; [`ConfigError::BadValue`]
    /// for a list or table where a value belongs. Values are checked by the `…Settings` types.
    pub fn load(
        path: Option<&Path>,
        environment: &Environment,
        flags: &Flags,
    ) -> Result<RawConfig, ConfigError> {
        let layers = [
            file_layer(path)?,
            Some(environment_layer(environment)),
            Some(flag_layer(flags)),
        ];
        let mut merged = Figment::new();
        let mut origins = BTreeMap::new();
        for layer in layers.into_iter().flatten() {
            // Each layer is read alone first, so that an error names the layer it is in.
            extract(&Figment::from(layer.provider()), &layer)?;
            for key in keys_of(&layer.values) {
                let origin = layer.origin(&key);
                origins.insert(key, origin);
            }
            merged = merged.merge(layer.provider());
        }
        let nothing = Layer {
            values: Dict::new(),
            name: "the merged configuration".to_owned(),
            names: BTreeMap::new(),
        };
        Ok(RawConfig {
            origins,
            ..extract(&merged, &nothing)?
        })
    }
}

impl Layer {
    fn provider(&self) -> Serialized<&Dict> {
        Serialized::from(&self.values, Profile::Default)
    }

    fn origin(&self, key: &str) -> String {
        self.names.get(key).unwrap_or(&self.name).clone()
    }

    /// The origin of a key or, where the fault is in what stands above it, of the first key below.
    fn origin_of_part(&self, key: &str) -> String {
        let below = format!("{key}.");
        self.names
            .iter()
            .find(|(name, _)| *name == key || name.starts_with(&below))
            .map_or_else(|| self.name.clone(), |(_, origin)| origin.clone())
    }
}

/// Reads the file, or nothing if none is named and the default one is not there.
fn file_layer(path: Option<&Path>) -> Result<Option<Layer>, ConfigError> {
    let file = path.unwrap_or(Path::new(DEFAULT_FILE));
    let unreadable = |source| ConfigError::Unreadable {
        path: file.to_owned(),
        source,
    };
    let opened = match std::fs::File::open(file) {
        Err(error) if path.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(None);
        }
        opened => opened.map_err(unreadable)?,
    };
    let mut text = String::new();
    opened
        .take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(ConfigError::TooLarge {
            path: file.to_owned(),
            limit: FILE_BYTES_MAX,
        });
    }
    let name = file.display().to_string();
    let values = Toml::string(&text)
        .data()
        .map_err(|error| syntax(&name, &error.kind))?
        .remove(&Profile::Default)
        .unwrap_or_default();
    Ok(Some(Layer {
        values,
        name,
        names: BTreeMap::new(),
    }))
}

/// Names the line of a TOML fault without quoting it: the line may hold a password.
fn syntax(origin: &str, kind: &Kind) -> ConfigError {
    let text = match kind {
        Kind::Message(text) => text.as_str(),
        _ => "",
    };
    let line = text
        .split_once("line ")
        .and_then(|(_, rest)| {
            rest.split(|c: char| !c.is_ascii_digit())
                .next()?
                .parse()
                .ok()
        })
        .unwrap_or(1);
    let reason = text
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty() && !line.contains('|'))
        .unwrap_or("not toml");
    ConfigError::Syntax {
        origin: origin.to_owned(),
        line,
        reason: reason.to_owned(),
    }
}

fn environment_layer(environment: &Environment) -> Layer {
    let mut layer = Layer {
        values: Dict::new(),
        name: "the environment".to_owned(),
        names: BTreeMap::new(),
    };
    for (variable, path, value) in environment.keys() {
        layer
            .names
            .insert(path.join("."), format!("environment variable {variable}"));
        insert(&mut layer.values, &path, value);
    }
    layer
}

fn flag_layer(flags: &Flags) -> Layer {
    let mut values = Dict::new();
    for (key, value) in &flags.values {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        insert(&mut values, &path, value);
    }
    Layer {
        values,
        name: "the command line".to_owned(),
        names: BTreeMap::new(),
    }
}

/// Puts a value at its path, unless one is there; a value in the way of a section stays, and is refused when read.
fn insert(values: &mut Dict, path: &[String], value: &str) {
    match path {
        [] => {}
        [key] => {
            values.entry(key.clone()).or_insert_with(|| value.into());
        }
        [section, rest @ ..] => {
            let entry = values
                .entry(section.clone())
                .or_insert_with(|| Dict::new().into());
            if let Value::Dict(_, inner) = entry {
                insert(inner, rest, value);
            }
        }
    }
}

/// Paths of all keys that hold a value.
fn keys_of(values: &Dict) -> Vec<String> {
    values
        .iter()
        .flat_map(|(key, value)| match value {
            Value::Dict(_, inner) => keys_of(inner)
                .into_iter()
                .map(|rest| format!("{key}.{rest}"))
                .collect(),
            _ => vec![key.clone()],
        })
        .collect()
}

/// Reads the sections, and says in the layer's own terms what is wrong.
fn extract(figment: &Figment, layer: &Layer) -> Result<RawConfig, ConfigError> {
    figment.extract().map_err(|error: figment::Error| {
        let path = error.path.join(".");
        match &error.kind {
            Kind::UnknownField(field, known) => {
                let key = match path.as_str() {
                    "" => field.clone(),
                    path if path == field || path.ends_with(&format!(".{field}")) => {
                        path.to_owned()
                    }
                    path => format!("{path}.{field}"),
                };
                ConfigError::UnknownKey {
                    origin: layer.origin_of_part(&key),
                    known: known.join(", "),
                    key,
                }
            }
            Kind::InvalidType(_, expected) if !expected.starts_with("struct ") => {
                ConfigError::BadValue {
                    origin: layer.origin_of_part(&path),
                    reason: format!("expected {expected}"),
                    key: path,
                }
            }
            _ => ConfigError::BadValue {
                origin: layer.origin_of_part(&path),
                reason: "expected a section with keys of its own".to_owned(),
                key: path,
            },
        }
    })
}

#[cfg(test)]
mod tests;
