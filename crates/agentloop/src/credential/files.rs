//! Files with credentials.

use std::path::{Path, PathBuf};

use super::Environment;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_CREDENTIAL_FILE_BYTES;
use crate::regular_file::read_regular;

/// Returns the home folder.
pub(super) fn home(environment: Environment<'_>) -> Option<PathBuf> {
    let home = environment.variable("HOME").or_else(|| environment.variable("USERPROFILE"));
    home.map(PathBuf::from)
}

/// Reads a file; empty if it does not exist.
#[cfg(feature = "bedrock")]
pub(super) fn read_file(path: Option<&Path>) -> Result<String> {
    match path {
        Some(path) => Ok(read(path)?.unwrap_or_default()),
        None => Ok(String::new()),
    }
}

/// Reads a file; `None` if it does not exist.
///
/// # Errors
///
/// When it is not a file, is too large, or cannot be read.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    let unusable = |why: String| {
        Error::new(ErrorKind::MissingKey, format!("the file {} {why}", path.display()))
            .with_hint("correct the file or its permissions")
    };
    let bytes = match read_regular(path, MAX_CREDENTIAL_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(format!("cannot be read: {error}"))),
    };
    // Editors of Windows write a mark at the beginning. The first line would not be what it is.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    Ok(Some(String::from_utf8_lossy(bytes).into_owned()))
}
