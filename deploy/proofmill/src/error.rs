//! Causes of failure, with what to do about them.

use std::io;
use std::path::{Path, PathBuf};

use crate::client::ClientError;
use crate::exit::Exit;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The coordinator refused, or was not there.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// What was typed cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
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
    /// The runtime did not start.
    #[error("cannot start the runtime: {0}")]
    Runtime(#[source] io::Error),
    /// The terminal or pipe went away.
    #[error("cannot write the result: {0}")]
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

    /// The exit code it means.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Client(error) => error.exit(),
            Self::Usage(_) | Self::Read { .. } => Exit::Usage,
            Self::FileTooLarge { .. } => Exit::Rejected,
            Self::Write { .. } | Self::Runtime(_) | Self::Output(_) => Exit::Failed,
        }
    }

    /// A stable code for programs.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Client(error) => error.code(),
            Self::Usage(_) => "usage",
            Self::Read { .. } => "unreadable-file",
            Self::Write { .. } => "unwritable-file",
            Self::FileTooLarge { .. } => "file-too-large",
            Self::Runtime(_) => "no-runtime",
            Self::Output(_) => "no-output",
        }
    }
}
