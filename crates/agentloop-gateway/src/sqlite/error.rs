//! Errors of a file, with what to do about them.

use std::fmt;
use std::path::Path;

use agentloop::{Error, ErrorKind};
use rusqlite::ErrorCode;

use super::Format;

/// Why an operation on a file failed.
#[derive(Debug)]
pub enum StoreError {
    /// The database failed.
    Sqlite(rusqlite::Error),
    /// The operation is not possible with what is stored.
    Refused(Error),
}

impl StoreError {
    /// Returns the refusal of an operation.
    pub fn new(message: impl Into<String>) -> Self {
        Self::Refused(Error::new(ErrorKind::Other, message))
    }

    /// Adds what to do to a refusal.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        match self {
            Self::Refused(error) => Self::Refused(error.with_hint(hint)),
            failed @ Self::Sqlite(_) => failed,
        }
    }

    /// Returns what to do, after [`StoreError::at`].
    pub fn advice(&self) -> Option<&str> {
        match self {
            Self::Refused(error) => error.hint(),
            Self::Sqlite(_) => None,
        }
    }

    /// Returns the error that callers get: with the path of the file, and what to do about it.
    pub fn at(self, path: &Path, format: &Format) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Sqlite(error) => format.describe(&error, path),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(error) => error.fmt(f),
            Self::Refused(error) => f.write_str(error.message()),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(format!("a stored value is not valid JSON: {error}"))
    }
}

impl Format {
    /// Describes an error of SQLite. Its kind never suggests that the key of a client is wrong.
    pub fn describe(&self, error: &rusqlite::Error, path: &Path) -> Error {
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
                "the file is damaged, or is not a database, and was left as it is; end the programs that use it and rename it to \
                 start a new one (`mv '{path}' '{path}.damaged'`); `sqlite3 '{path}.damaged' .recover` may restore its content"
            )),
            Some(ErrorCode::DiskFull) => described.with_hint("free some disk space"),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                described.with_hint("another process is writing to the file; try again")
            }
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                described.with_hint(self.check_permissions())
            }
            _ => described,
        }
    }

    /// Describes an error of the file system.
    pub(super) fn describe_file(&self, error: &std::io::Error, path: &Path) -> Error {
        Error::new(ErrorKind::Config, format!("{}: {error}", path.display()))
            .with_hint(self.check_permissions())
    }

    fn check_permissions(&self) -> String {
        format!("check the permissions of the file and of its folder, or {}", self.elsewhere)
    }
}
