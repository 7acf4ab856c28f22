//! How many tokens a request has.

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Encoded;
use crate::provider::Provider;
use crate::request::ChatRequest;

/// The call.
pub(crate) fn encode(_: &Provider, _: &str, _: &ChatRequest) -> Result<Encoded> {
    Err(Error::new(ErrorKind::Unsupported, "not spoken yet"))
}

/// The number.
pub(crate) fn decode(_: &Provider, _: &[u8]) -> Result<u64> {
    Err(Error::new(ErrorKind::Unsupported, "not spoken yet"))
}
