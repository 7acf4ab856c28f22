//! Embeddings, of which this protocol has none.

use crate::chat::EmbedRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Encoded;
use crate::provider::Provider;

/// The call for some of the request's texts.
pub(crate) fn encode(_: &Provider, _: &str, _: &EmbedRequest, _: &[String]) -> Result<Encoded> {
    Err(Error::new(ErrorKind::Unsupported, "this protocol has no embeddings"))
}
