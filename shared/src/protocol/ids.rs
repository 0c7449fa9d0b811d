//! Names of things: jobs, workers, circuits, units of work, and the token that fences them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// An id that does not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not a UUID.
    #[error("{0:?} is not a job id: expected a UUID such as 0197c1e8-7d1c-7b3a-9c9e-2f5f0a6d1b11")]
    Job(String),
    /// A worker id that is empty, too long or holds other characters than `a-z A-Z 0-9 . _ -`.
    #[error("{0:?} is not a worker id: expected 1 to 64 characters of a-z A-Z 0-9 . _ -")]
    Worker(String),
    /// A circuit id that is not `name@version`.
    #[error(
        "{0:?} is not a circuit id: expected a name such as sha256, or name@version such as sha256@1"
    )]
    Circuit(String),
    /// A digest that is not 64 hex digits.
    #[error("{0:?} is not a digest: expected 64 hex digits")]
    Digest(String),
}

/// A job. A version 7 UUID, so that ids sort by creation; its 128 bits are the trace id of everything done for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(Uuid);

impl JobId {
    /// Makes an id of the current instant.
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// Wraps a UUID.
    #[must_use]
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    /// The trace id of the job: the same 128 bits, big-endian.
    #[must_use]
    pub const fn trace_id(self) -> u128 {
        self.0.as_u128()
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for JobId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Uuid::parse_str(text)
            .map(Self)
            .map_err(|_| IdError::Job(text.to_owned()))
    }
}

/// A worker process, stable over its restarts where the operator names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkerId(String);

impl WorkerId {
    /// Longest accepted id, in characters.
    pub const MAX_LEN: usize = 64;

    /// Checks and wraps a name.
    ///
    /// # Errors
    /// [`IdError::Worker`] if the name is empty, too long, or holds other characters than `a-z A-Z 0-9 . _ -`.
    pub fn new(name: impl Into<String>) -> Result<Self, IdError> {
        let name = name.into();
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || name.len() > Self::MAX_LEN || !name.chars().all(legal) {
            return Err(IdError::Worker(name));
        }
        Ok(Self(name))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for WorkerId {
    type Error = IdError;

    fn try_from(name: String) -> Result<Self, IdError> {
        Self::new(name)
    }
}

impl From<WorkerId> for String {
    fn from(id: WorkerId) -> Self {
        id.0
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One life of a worker process: a restarted worker keeps its [`WorkerId`] and draws a new incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(Uuid);

impl Incarnation {
    /// Draws a fresh incarnation.
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.simple().fmt(f)
    }
}

/// A circuit program and its version, written `name@version`; a bare name means version 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CircuitId {
    name: String,
    version: u32,
}

impl CircuitId {
    /// Longest accepted name, in characters.
    pub const MAX_NAME_LEN: usize = 96;

    /// Checks and wraps a name and a version.
    ///
    /// # Errors
    /// [`IdError::Circuit`] if the name is empty, too long, or holds other characters than `a-z 0-9 . _ -`.
    pub fn new(name: &str, version: u32) -> Result<Self, IdError> {
        let legal =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || name.len() > Self::MAX_NAME_LEN || !name.chars().all(legal) {
            return Err(IdError::Circuit(name.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
            version,
        })
    }

    /// The name without its version.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version: it changes whenever the constraints or the meaning of an input change.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }
}

impl FromStr for CircuitId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let (name, version) = match text.split_once('@') {
            None => (text, 1),
            Some((name, version)) => (
                name,
                version
                    .parse()
                    .map_err(|_| IdError::Circuit(text.to_owned()))?,
            ),
        };
        Self::new(name, version).map_err(|_| IdError::Circuit(text.to_owned()))
    }
}

impl TryFrom<String> for CircuitId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<CircuitId> for String {
    fn from(id: CircuitId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for CircuitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// A BLAKE3 digest of 32 bytes: the identity of a shape, a key, a manifest or an input. Hex in text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Digests some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let mut bytes = [0u8; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| IdError::Digest(text.to_owned()))?;
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

/// A number that grows with every attempt of one unit; a write that carries an older one is refused.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct FencingToken(pub u64);

impl FencingToken {
    /// The token of the attempt after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What of a job a task works on: its plan, one partition, or the finish that joins the partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Checking the input and splitting it into partitions.
    Plan,
    /// One circuit instance, by index from 0.
    Partition(u32),
    /// Joining the proofs of all partitions into the job's output.
    Finish,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan => f.write_str("plan"),
            Self::Partition(index) => index.fmt(f),
            Self::Finish => f.write_str("finish"),
        }
    }
}

/// Which half of the pipeline a task belongs to. `Plan` and `Finish` are synthesis: circuit code runs only there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Runs on synth workers.
    Synthesis,
    /// Runs on GPU workers.
    Proving,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Synthesis => "synthesis",
            Self::Proving => "proving",
        })
    }
}

/// What makes an effect unique: every worker write is idempotent by this key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskKey {
    /// The job.
    pub job: JobId,
    /// The unit of the job.
    pub unit: Unit,
    /// The stage.
    pub stage: Stage,
    /// 1, 2, … within (unit, stage).
    pub attempt: u32,
    /// The token granted to this attempt.
    pub token: FencingToken,
}

/// Microseconds since the Unix epoch on the cluster's clock (Redis `TIME`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct UnixMicros(pub u64);

impl UnixMicros {
    /// The time from `earlier` to here, zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// The instant `duration` after this one.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_circuit_name_means_version_one() {
        let id: CircuitId = "sha256".parse().unwrap();
        assert_eq!((id.name(), id.version()), ("sha256", 1));
        assert_eq!(
            "sha256@2".parse::<CircuitId>().unwrap().to_string(),
            "sha256@2"
        );
        assert!("sha 256".parse::<CircuitId>().is_err());
        assert!("sha256@x".parse::<CircuitId>().is_err());
    }

    #[test]
    fn worker_ids_are_short_and_plain() {
        assert!(WorkerId::new("host-1.gpu_0").is_ok());
        assert!(WorkerId::new("").is_err());
        assert!(WorkerId::new("a:b").is_err());
        assert!(WorkerId::new("x".repeat(WorkerId::MAX_LEN + 1)).is_err());
    }

    #[test]
    fn digests_read_back_from_their_text() {
        let digest = Digest::of(b"proofmill");
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
    }
}
