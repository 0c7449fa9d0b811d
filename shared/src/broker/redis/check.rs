//! Whether a server can be used, and how much room it has.

use std::collections::HashMap;
use std::fmt;

use redis::cmd;

use super::link::Link;
use crate::broker::limits::ENTRY_BYTES_MAX;
use crate::broker::{BrokerError, PayloadUsage};

/// Oldest version with everything that is used here (XAUTOCLAIM's relatives, exclusive ranges, LIMIT by rank).
const OLDEST_VERSION: (u32, u32) = (6, 2);

/// First version whose scripts have flags.
const SCRIPT_FLAGS_VERSION: (u32, u32) = (7, 0);

/// Least `proto-max-bulk-len`: records and results are under it by far, larger things are cut into pieces.
const VALUE_BYTES_MIN: usize = 1 << 20;

/// What a server says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    /// `redis` or `valkey`.
    name: &'static str,
    /// Its own version.
    text: String,
    /// The Redis version it is compatible with.
    compatible: (u32, u32),
}

impl Version {
    fn of(info: &HashMap<String, String>) -> Option<Self> {
        let redis = info.get("redis_version")?;
        let mut parts = redis.split('.').map(|part| part.parse::<u32>().ok());
        let compatible = (parts.next()??, parts.next()??);
        let (name, text) = match info.get("valkey_version") {
            Some(valkey) => ("valkey", valkey),
            None => ("redis", redis),
        };
        Some(Self {
            name,
            text: text.clone(),
            compatible,
        })
    }

    /// True if scripts may say what they need in their first line.
    pub(super) const fn knows_script_flags(&self) -> bool {
        self.compatible.0 >= SCRIPT_FLAGS_VERSION.0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.text)
    }
}

/// What [`check`] found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) version: Version,
    pub(super) limit_bytes: u64,
}

/// Asks a server what it is.
pub(super) async fn version(link: &Link) -> Result<Version, BrokerError> {
    let info = info(link, "server").await?;
    Version::of(&info).ok_or_else(|| BrokerError::Unexpected {
        detail: "the server does not say its version".to_owned(),
    })
}

/// Checks that a server can be used, and remembers how large a value it accepts.
pub(super) async fn check(link: &Link) -> Result<Found, BrokerError> {
    let server = info(link, "server").await?;
    let version = Version::of(&server).ok_or_else(|| BrokerError::Unexpected {
        detail: "the server does not say its version".to_owned(),
    })?;
    let replication = info(link, "replication").await?;
    let settings = settings(link).await?;
    judge(&version, &server, &replication, &settings).map_err(|reason| {
        BrokerError::Unsuitable {
            server: link.endpoint().server.clone(),
            reason,
        }
    })?;
    if let Some(bytes) = settings.value_bytes_max {
        link.set_value_bytes_max(bytes);
    }
    Ok(Found {
        version,
        limit_bytes: settings.memory_bytes_max,
    })
}

/// Bytes in use and the limit of a server.
pub(super) async fn usage(link: &Link) -> Result<PayloadUsage, BrokerError> {
    let memory = info(link, "memory").await?;
    let number = |name: &str| memory.get(name).and_then(|text| text.parse::<u64>().ok());
    let used_bytes = number("used_memory").ok_or_else(|| BrokerError::Unexpected {
        detail: "the server does not say its used memory".to_owned(),
    })?;
    Ok(PayloadUsage {
        used_bytes,
        limit_bytes: number("maxmemory").filter(|limit| *limit > 0),
    })
}

/// Largest entry for a server that accepts values of `value_bytes_max`.
pub(super) fn entry_bytes_max(link: &Link) -> usize {
    link.value_bytes_max().min(ENTRY_BYTES_MAX)
}

/// The settings that matter.
#[derive(Debug)]
struct Settings {
    memory_bytes_max: u64,
    eviction: String,
    /// `None` if the server does not tell.
    value_bytes_max: Option<usize>,
}

fn judge(
    version: &Version,
    server: &HashMap<String, String>,
    replication: &HashMap<String, String>,
    settings: &Settings,
) -> Result<(), String> {
    if version.compatible < OLDEST_VERSION {
        let (major, minor) = OLDEST_VERSION;
        return Err(format!(
            "it is {version}: use redis {major}.{minor} or later, or valkey"
        ));
    }
    if server
        .get("redis_mode")
        .is_some_and(|mode| mode == "cluster")
    {
        return Err("it is part of a redis cluster: use a server outside one".to_owned());
    }
    if replication.get("role").is_some_and(|role| role != "master") {
        return Err("it is a replica: give the url of the server it follows".to_owned());
    }
    if settings.eviction != "noeviction" {
        return Err(format!(
            "its maxmemory-policy is {}, which drops jobs when memory is short: set maxmemory-policy noeviction",
            settings.eviction
        ));
    }
    if settings.memory_bytes_max == 0 {
        return Err(
            "it has no memory limit, so that a burst of payload ends with the machine out of memory: set maxmemory, \
             such as maxmemory 4gb"
                .to_owned(),
        );
    }
    match settings.value_bytes_max {
        Some(bytes) if bytes < VALUE_BYTES_MIN => Err(format!(
            "its proto-max-bulk-len is {bytes} bytes: set it to {VALUE_BYTES_MIN} or more"
        )),
        _ => Ok(()),
    }
}

/// Reads the settings; where CONFIG is forbidden, as with many hosted servers, from INFO.
async fn settings(link: &Link) -> Result<Settings, BrokerError> {
    let mut get = cmd("CONFIG");
    get.arg("GET").arg("*max*");
    let config: HashMap<String, String> = match link.ask(&get).await.map_err(BrokerError::from) {
        Ok(config) => config,
        Err(BrokerError::Unsuitable { .. } | BrokerError::Unexpected { .. }) => HashMap::new(),
        Err(error) => return Err(error),
    };
    let memory = info(link, "memory").await?;
    let setting = |config_name: &str, info_name: &str| {
        let found = config.get(config_name).or_else(|| memory.get(info_name));
        found.cloned().ok_or_else(|| BrokerError::Unsuitable {
            server: link.endpoint().server.clone(),
            reason: format!(
                "it does not tell its {config_name}: allow the broker's user CONFIG GET"
            ),
        })
    };
    Ok(Settings {
        memory_bytes_max: setting("maxmemory", "maxmemory")?
            .parse()
            .unwrap_or_default(),
        eviction: setting("maxmemory-policy", "maxmemory_policy")?,
        value_bytes_max: config
            .get("proto-max-bulk-len")
            .and_then(|text| text.parse().ok()),
    })
}

/// A section of INFO as names and values.
async fn info(link: &Link, section: &str) -> Result<HashMap<String, String>, BrokerError> {
    let mut info = cmd("INFO");
    info.arg(section);
    let text: String = link.ask(&info).await?;
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    Ok(pairs
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        let owned = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        owned.collect()
    }

    fn judged(
        redis: &str,
        more: &[(&str, &str)],
        role: &str,
        settings: &Settings,
    ) -> Result<(), String> {
        let mut server = map(more);
        server.insert("redis_version".to_owned(), redis.to_owned());
        let version = Version::of(&server).unwrap();
        judge(&version, &server, &map(&[("role", role)]), settings)
    }

    fn good() -> Settings {
        Settings {
            memory_bytes_max: 1 << 30,
            eviction: "noeviction".to_owned(),
            value_bytes_max: Some(512 << 20),
        }
    }

    #[test]
    fn versions_from_6_2_on_are_accepted() {
        assert!(judged("6.0.16", &[], "master", &good()).is_err());
        for version in ["6.2.0", "7.0.15", "8.2.1", "10.0.0"] {
            judged(version, &[], "master", &good()).unwrap();
        }
        judged("7.2.4", &[("valkey_version", "9.1.0")], "master", &good()).unwrap();
    }

    #[test]
    fn a_server_that_loses_or_refuses_writes_is_named_with_its_cure() {
        let mode = [("redis_mode", "cluster")];
        assert!(
            judged("7.0.15", &mode, "master", &good())
                .unwrap_err()
                .contains("cluster")
        );
        assert!(
            judged("7.0.15", &[], "slave", &good())
                .unwrap_err()
                .contains("replica")
        );
        let small = Settings {
            value_bytes_max: Some(1000),
            ..good()
        };
        let reason = judged("7.0.15", &[], "master", &small).unwrap_err();
        assert!(reason.contains("proto-max-bulk-len"), "{reason}");
    }

    #[test]
    fn valkey_is_called_by_its_name() {
        let info = map(&[("redis_version", "7.2.4"), ("valkey_version", "8.1.0")]);
        let version = Version::of(&info).unwrap();
        assert_eq!(version.to_string(), "valkey 8.1.0");
        assert!(version.knows_script_flags());
    }
}
