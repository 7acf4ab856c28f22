//! Writes answers.

use bytes::Bytes;

use crate::error::{Error, ErrorKind};
use crate::response::ChatResponse;

/// The body of a whole answer; an error, as answers of this protocol are not written yet.
pub fn write_body(_: &ChatResponse) -> Bytes {
    let error = Error::new(ErrorKind::Unsupported, "answers of this protocol are not written yet");
    super::write_error(&error)
}

/// The body of a token count.
pub fn write_count(tokens: u64) -> Bytes {
    format!(r#"{{"object":"response.input_tokens","input_tokens":{tokens}}}"#).into()
}
