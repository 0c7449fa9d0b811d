//! Causes of failure, with what to do about them.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use proofmill_gpu_worker::device::{DeviceError, DeviceProofError};
use proofmill_gpu_worker::proving_key::LoadError;
use proofmill_shared::config::ConfigError;
use proofmill_shared::groth16::{KeyError, SetupError, StoreError};
use proofmill_synth_worker::circuit::CircuitError;

use crate::client::ClientError;
use crate::commands::VerificationError;
use crate::embedded::EmbeddedError;
use crate::exit::Exit;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The coordinator refused, or was not there.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The configuration is refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// What was typed cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// A file is larger than this command handles.
    #[error("{} is larger than {limit} bytes, the most this command reads", path.display())]
    FileTooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// The store of keys and shapes cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A params file cannot be used.
    #[error("{} cannot be used", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: KeyError,
    },
    /// A circuit is not known here, or does not take the input.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// No key can be made for a circuit.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A circuit cannot be brought onto the device.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The device did not prove.
    #[error(transparent)]
    Prove(#[from] DeviceProofError),
    /// The embedded cluster did not prove.
    #[error(transparent)]
    Demo(#[from] EmbeddedError),
    /// A proof is not what it claims to be.
    #[error(transparent)]
    Verification(#[from] VerificationError),
    /// The runtime did not start.
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
    /// The terminal or pipe went away.
    #[error("cannot write the result")]
    Output(#[source] io::Error),
}

impl CliError {
    /// A file that cannot be read.
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Read { path, source }
    }

    /// A file that cannot be written.
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Write { path, source }
    }

    /// A params file that cannot be used.
    pub(crate) fn key(path: &Path, source: KeyError) -> Self {
        let path = path.to_owned();
        Self::Key { path, source }
    }

    /// The exit code it means.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Client(error) => error.exit(),
            Self::Demo(error) => error.exit(),
            Self::Usage(_) | Self::Config(_) | Self::Read { .. } => Exit::Usage,
            Self::Circuit(CircuitError::UnknownCircuit { .. }) => Exit::Usage,
            Self::Circuit(_) | Self::FileTooLarge { .. } => Exit::Rejected,
            Self::Write { .. }
            | Self::Store(_)
            | Self::Key { .. }
            | Self::Setup(_)
            | Self::Device(_)
            | Self::Load(_)
            | Self::Prove(_)
            | Self::Verification(_)
            | Self::Runtime(_)
            | Self::Output(_) => Exit::Failed,
        }
    }

    /// A stable code for programs.
    pub(crate) fn code(&self) -> String {
        let code = match self {
            Self::Client(error) => error.code(),
            Self::Circuit(error) => return error.failure().code,
            Self::Config(_) => "bad-configuration",
            Self::Usage(_) => "usage",
            Self::Read { .. } => "unreadable-file",
            Self::Write { .. } => "unwritable-file",
            Self::FileTooLarge { .. } => "file-too-large",
            Self::Store(StoreError::MissingKey { .. } | StoreError::MissingShape { .. }) => {
                "missing-params"
            }
            Self::Store(_) => "bad-store",
            Self::Key { .. } => "bad-params",
            Self::Setup(_) => "bad-circuit",
            Self::Device(_) => "bad-device",
            Self::Load(_) => "not-loaded",
            Self::Prove(_) => "not-proved",
            Self::Verification(error) => error.code(),
            Self::Demo(error) => error.code(),
            Self::Runtime(_) => "no-runtime",
            Self::Output(_) => "no-output",
        };
        code.to_owned()
    }

    /// The whole message: causes behind it follow, unless it says the same already.
    pub(crate) fn message(&self) -> String {
        let mut message = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            cause = error.source();
        }
        message
    }
}
