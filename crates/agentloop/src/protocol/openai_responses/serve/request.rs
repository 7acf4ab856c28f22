//! Reads requests, tolerantly.

use http::Method;

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::serve::{Operation, ServedChat};

/// What a call asks for, by its method and the end of its path.
pub fn route(_: &Method, _: &str) -> Option<Operation> {
    None
}

/// Reads a chat request.
///
/// # Errors
///
/// Always: requests of this protocol are not read yet.
pub fn read_chat(_: &[u8]) -> Result<ServedChat> {
    Err(Error::new(ErrorKind::Unsupported, "requests of this protocol are not read yet"))
}
