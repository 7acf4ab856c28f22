//! Embeddings.

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Embedded, Encoded};
use crate::provider::Provider;
use crate::request::EmbedRequest;

/// The call for some of the request's texts.
pub(crate) fn encode(_: &Provider, _: &str, _: &EmbedRequest, _: &[String]) -> Result<Encoded> {
    Err(Error::new(ErrorKind::Unsupported, "this protocol has no embeddings"))
}

/// The vectors.
pub(crate) fn decode(_: &Provider, _: &[u8]) -> Result<Embedded> {
    Err(Error::new(ErrorKind::Unsupported, "this protocol has no embeddings"))
}
