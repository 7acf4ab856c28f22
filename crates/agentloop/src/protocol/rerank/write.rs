//! Writes a rerank call.

use crate::chat::RerankRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Encoded;
use crate::protocol::task::TaskBody;
use crate::provider::Provider;

pub(in crate::protocol) fn encode(
    provider: &Provider,
    model: &str,
    request: &RerankRequest,
) -> Result<Encoded> {
    if request.documents.is_empty() {
        let message = "the request has no documents to rank";
        return Err(Error::new(ErrorKind::InvalidRequest, message));
    }
    let mut body = TaskBody::json(provider, &request.extra_body);
    body.fixed("model", model)?;
    body.fixed("query", &request.query)?;
    body.option("top_n", request.top_n.as_ref())?;
    body.fixed("documents", &request.documents)?;
    let path = provider.quirks.tasks.rerank_path.as_deref();
    let path = path.map_or_else(|| "/rerank".to_owned(), |path| format!("/{path}"));
    body.finish(path, "application/json", &request.extra_headers)
}
