//! Files with credentials.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::Environment;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_CREDENTIAL_FILE_BYTES;

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
    let failed = |error: std::io::Error| unusable(format!("cannot be read: {error}"));
    let too_large = || unusable(format!("is larger than {MAX_CREDENTIAL_FILE_BYTES} bytes"));
    match std::fs::metadata(path) {
        Ok(file) if !file.is_file() => return Err(unusable("is not a file".to_owned())),
        Ok(file) if file.len() > MAX_CREDENTIAL_FILE_BYTES => return Err(too_large()),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    // The length is checked again: the file may have grown, or it is one of `/proc`, whose length is 0.
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MAX_CREDENTIAL_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_CREDENTIAL_FILE_BYTES {
        return Err(too_large());
    }
    // Editors of Windows write a mark at the beginning. The first line would not be what it is.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    Ok(Some(String::from_utf8_lossy(bytes).into_owned()))
}
