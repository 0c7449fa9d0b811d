//! What a server or a connection said no with, and what it means.

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::broker::{BrokerError, Retryability};

/// Longest text of a server's error that is passed on.
const DETAIL_LEN_MAX: usize = 200;

/// Why one exchange with the server failed.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The stream or its consumer group is not there (any more).
    NoGroup,
    /// The stream has an entry of this or a later id.
    IdTooSmall,
    /// For everybody else.
    Broker(BrokerError),
}

impl Refusal {
    /// True if the same exchange may succeed in a moment. A full server is the caller's matter: it has to slow down.
    pub(super) const fn is_worth_repeating(&self) -> bool {
        match self {
            Self::NoGroup | Self::IdTooSmall | Self::Broker(BrokerError::OutOfMemory) => false,
            Self::Broker(error) => matches!(error.retryability(), Retryability::Transient),
        }
    }
}

impl From<BrokerError> for Refusal {
    fn from(error: BrokerError) -> Self {
        Self::Broker(error)
    }
}

impl From<Refusal> for BrokerError {
    fn from(refusal: Refusal) -> Self {
        let detail = match refusal {
            Refusal::Broker(error) => return error,
            Refusal::NoGroup => "a stream has no consumer group",
            Refusal::IdTooSmall => "a stream holds later entries",
        };
        Self::Unexpected {
            detail: detail.to_owned(),
        }
    }
}

/// True if the connection is of no use after this.
pub(super) fn breaks_connection(error: &RedisError) -> bool {
    error.is_io_error() || error.is_unrecoverable_error()
}

/// Says what an error means. `limit_ms` is the time limit the exchange had.
pub(super) fn judge(server: &str, limit_ms: u64, error: &RedisError) -> Refusal {
    if error.is_timeout() {
        return BrokerError::Timeout { limit_ms }.into();
    }
    let all = error.clone().into_server_errors();
    let said = || {
        all.iter()
            .flat_map(|errors| errors.iter())
            .map(|(_, error)| error)
    };
    let code = |text: &str| said().any(|error| error.code() == text);
    let phrase = |text: &str| {
        said().any(|error| {
            error
                .details()
                .is_some_and(|details| details.contains(text))
        })
    };
    let unreachable = || BrokerError::Unreachable {
        server: server.to_owned(),
        detail: plain(error),
    };
    let unsuitable = |advice: &str| BrokerError::Unsuitable {
        server: server.to_owned(),
        reason: format!("{} ({advice})", plain(error)),
    };
    if code("NOGROUP") || code("UNBLOCKED") {
        return Refusal::NoGroup;
    }
    if phrase("equal or smaller than the target stream top item") {
        return Refusal::IdTooSmall;
    }
    if code("OOM") || phrase("OOM command not allowed") {
        return BrokerError::OutOfMemory.into();
    }
    if code("NOAUTH") || code("WRONGPASS") {
        return unsuitable("put the user and password into the broker url").into();
    }
    if code("BUSY") || code("MISCONF") || phrase("max number of clients") {
        return unreachable().into();
    }
    let judged = match error.kind() {
        ErrorKind::Io
        | ErrorKind::Server(
            ServerErrorKind::BusyLoading
            | ServerErrorKind::MasterDown
            | ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::ReadOnly,
        ) => unreachable(),
        ErrorKind::AuthenticationFailed => unsuitable("correct the password in the broker url"),
        ErrorKind::Server(ServerErrorKind::NoPerm) => {
            unsuitable("allow the broker's user this command and its keys")
        }
        ErrorKind::Server(ServerErrorKind::Moved | ServerErrorKind::Ask) => {
            unsuitable("use a server outside a redis cluster")
        }
        _ => BrokerError::Unexpected {
            detail: plain(error),
        },
    };
    judged.into()
}

/// The error's text, short and without what may be secret: the arguments that a server may quote from a command, and the
/// values that the library quotes where it expected others.
fn plain(error: &RedisError) -> String {
    if matches!(
        error.kind(),
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType
    ) {
        return error.category().to_owned();
    }
    let text = error.to_string();
    let text = text.split(", with args").next().unwrap_or_default();
    text.chars().take(DETAIL_LEN_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: &str, detail: &str) -> RedisError {
        redis::make_extension_error(code.to_owned(), Some(detail.to_owned()))
    }

    #[test]
    fn a_full_server_is_backpressure_and_not_repeated() {
        let plain = judge(
            "s",
            1,
            &said("OOM", "command not allowed when used memory > 'maxmemory'."),
        );
        assert!(matches!(plain, Refusal::Broker(BrokerError::OutOfMemory)));
        assert!(!plain.is_worth_repeating());
        let text = "Error running script: -OOM command not allowed when used memory > 'maxmemory'.";
        let in_script = judge("s", 1, &said("ERR", text));
        assert!(matches!(
            in_script,
            Refusal::Broker(BrokerError::OutOfMemory)
        ));
    }

    #[test]
    fn arguments_quoted_by_the_server_are_not_passed_on() {
        let text = "unknown command 'HSET', with args beginning with: 'secret'";
        let Refusal::Broker(error) = judge("s", 1, &said("ERR", text)) else {
            panic!("expected a broker error");
        };
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(error.to_string().contains("HSET"), "{error}");
    }

    #[test]
    fn a_missing_group_is_told_apart() {
        let refusal = judge(
            "s",
            1,
            &said("NOGROUP", "No such key 'x' or consumer group 'y'"),
        );
        assert!(matches!(refusal, Refusal::NoGroup));
    }
}
