//! Errors of PostgreSQL, as errors of a store.
//!
//! They are never authentication errors: to a client of the gateway, that would mean that its own key is wrong. They never
//! contain the URL.

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::time::Duration;

use agentloop::{Error, ErrorKind};
use tokio_postgres::Error as PostgresError;

/// The longest text of the server in an error, in characters.
const MAX_SERVER_TEXT: usize = 300;

/// Why an operation failed.
pub(super) enum Failure {
    /// The connection or the server failed.
    Server(PostgresError),
    /// The database cannot be used.
    Refused(Error),
}

impl From<PostgresError> for Failure {
    fn from(error: PostgresError) -> Self {
        Self::Server(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Failure {
    /// Returns the error of an operation.
    pub(super) fn describe(self, what: &str) -> Error {
        let error = match self {
            Self::Refused(error) => return error,
            Self::Server(error) => error,
        };
        let Some(reported) = error.as_db_error() else { return lost(what, &error) };
        let code = reported.code().code();
        // See "PostgreSQL Error Codes": the first two characters are the class.
        let (kind, hint) = match code {
            "57014" => (ErrorKind::Timeout, "the server was too slow: look at its load and locks"),
            "53300" => (ErrorKind::Overloaded, "raise max_connections of the server"),
            "25006" => (ErrorKind::Server, "the server is read-only: name the primary in the URL"),
            _ => match code.get(..2).unwrap_or_default() {
                "28" => (ErrorKind::Config, "check the user and the password in the URL"),
                "3D" => (ErrorKind::Config, "create the database, or correct its name in the URL"),
                "42" => (ErrorKind::Config, "the user of the URL must own the schema agentloop"),
                "40" => (ErrorKind::Conflict, "it can be repeated"),
                "53" => (ErrorKind::Overloaded, "give the server more disk space or memory"),
                "57" | "08" => (ErrorKind::Connection, "the server stops or starts; wait for it"),
                _ => (ErrorKind::Server, "the log of the PostgreSQL server has the details"),
            },
        };
        let text: String = reported.message().chars().take(MAX_SERVER_TEXT).collect();
        Error::new(kind, format!("PostgreSQL could not {what}: {text}"))
            .with_code(code)
            .with_hint(hint)
    }
}

/// The connection could not be opened, or broke.
fn lost(what: &str, error: &PostgresError) -> Error {
    let mut text = format!("PostgreSQL could not {what}: {error}");
    let mut is_tls = false;
    let mut source = error.source();
    while let Some(error) = source {
        is_tls |= error.downcast_ref::<rustls::Error>().is_some()
            || error
                .downcast_ref::<std::io::Error>()
                .and_then(std::io::Error::get_ref)
                .is_some_and(|inner| inner.downcast_ref::<rustls::Error>().is_some());
        let _ = write!(text, ": {error}");
        source = error.source();
    }
    let text: String = text.chars().take(2 * MAX_SERVER_TEXT).collect();
    if is_tls {
        let hint = "name the certificates to trust with sslrootcert=FILE in the URL";
        return Error::new(ErrorKind::Tls, text).with_hint(hint);
    }
    Error::new(ErrorKind::Connection, text)
        .with_hint("check that the server runs, and its address in the URL")
}

/// The deadline passed.
pub(super) fn late(what: &str, deadline: Duration) -> Error {
    let message = format!("PostgreSQL could not {what} within {deadline:?}");
    Error::new(ErrorKind::Timeout, message)
        .with_hint("check that the server can be reached, and its load")
}

/// The pool was closed while an operation waited.
pub(super) fn closed() -> Error {
    Error::new(ErrorKind::Connection, "the connections to PostgreSQL are closed")
}
