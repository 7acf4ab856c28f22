//! Asks for embeddings.

use crate::chat::EmbedRequest;
use crate::error::Result;
use crate::protocol::Encoded;
use crate::protocol::embed::typed;
use crate::provider::Provider;

/// Encodes the call for some of the texts of the request.
pub(super) fn encode(
    provider: &Provider,
    model: &str,
    request: &EmbedRequest,
    texts: &[String],
) -> Result<Encoded> {
    typed::encode(provider, "/embed".into(), Some(model), request, texts)
}
