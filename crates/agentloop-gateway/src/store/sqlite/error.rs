//! Errors of the file, with what to do about them.

use std::path::Path;

use agentloop::{Error, ErrorKind};
use rusqlite::ErrorCode;

/// Why an operation failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The database failed.
    Sqlite(rusqlite::Error),
    /// The operation is not possible with what is stored.
    Refused(Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        let message = format!("a stored value is not valid JSON: {error}");
        Self::Refused(Error::new(ErrorKind::Other, message))
    }
}

impl Failure {
    /// Returns the error that callers get.
    pub(super) fn at(self, path: &Path) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Sqlite(error) => describe(&error, path),
        }
    }
}

/// Describes an error of SQLite. Its kind never suggests that the key of a client is wrong.
pub(super) fn describe(error: &rusqlite::Error, path: &Path) -> Error {
    let code = error.sqlite_error_code();
    let path = path.display();
    let described = Error::new(ErrorKind::Other, format!("{path}: {error}"));
    let may_pass = matches!(
        code,
        Some(
            ErrorCode::DiskFull
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::SystemIoFailure
        )
    );
    let described = described.with_retryable(may_pass);
    match code {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => described.with_hint(format!(
            "the file is damaged, or is not a database, and was left as it is; stop the gateway and rename it to start a new one \
             (`mv '{path}' '{path}.damaged'`); `sqlite3 '{path}.damaged' .recover` may restore its content"
        )),
        Some(ErrorCode::DiskFull) => described.with_hint("free some disk space"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            described.with_hint("another process is writing to the file; try again")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            described.with_hint(check_permissions())
        }
        _ => described,
    }
}

/// Describes an error of the file system.
pub(super) fn describe_file(error: &std::io::Error, path: &Path) -> Error {
    Error::new(ErrorKind::Config, format!("{}: {error}", path.display()))
        .with_hint(check_permissions())
}

fn check_permissions() -> &'static str {
    "check the permissions of the file and of its folder, or choose another file with `path` in [gateway.store]"
}
