//! Request → the body that the host takes.

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Encoded;
use crate::provider::Provider;
use crate::request::ChatRequest;

/// The chat call.
pub(crate) fn chat(_: &Provider, _: &str, _: &ChatRequest, _: bool) -> Result<Encoded> {
    Err(Error::new(ErrorKind::Unsupported, "not spoken yet"))
}
