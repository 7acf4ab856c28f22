//! Errors of the file, with what to do about them.

use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::failure::Failure;

pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// The reason why the file cannot be used, or why there is not what was looked for.
#[derive(Debug)]
pub(crate) struct StoreError {
    message: String,
    hint: Option<String>,
    path: Option<PathBuf>,
    code: Option<ErrorCode>,
}

impl StoreError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, path: None, code: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the path of the file to an error of SQLite or of the file system.
    pub(super) fn at(mut self, path: &Path) -> Self {
        if self.code.is_some() && self.path.is_none() {
            self.path = Some(path.to_owned());
            self.hint = self.code.and_then(|code| advise(code, path));
        }
        self
    }

    pub(super) fn file(path: &Path, error: &std::io::Error) -> Self {
        Self { path: Some(path.to_owned()), ..Self::new(error.to_string()) }
    }

    /// Returns what to do.
    pub(crate) fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Returns what to do about an error of SQLite.
fn advise(code: ErrorCode, path: &Path) -> Option<String> {
    let path = path.display();
    Some(match code {
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => format!(
            "the file is damaged and was left as it is; rename it to start a new one (`mv '{path}' '{path}.damaged'`); \
             `sqlite3 '{path}.damaged' .recover` may restore its content"
        ),
        ErrorCode::DiskFull => "free some disk space".to_owned(),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            "another process is writing to the file; try again".to_owned()
        }
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            "check the permissions of the file and of its folder, or choose another folder with AGENTLOOP_DATA".to_owned()
        }
        _ => return None,
    })
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}: {}", path.display(), self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let code = error.sqlite_error_code().unwrap_or(ErrorCode::Unknown);
        Self { code: Some(code), ..Self::new(error.to_string()) }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(format!("a stored value is not valid JSON: {error}"))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error.hint {
            Some(hint) => Self::input_with_hint(message, hint),
            None => Self::input(message),
        }
    }
}
