//! The client, with a transport that returns prepared responses.

mod blocking;
mod credentials;
mod derived;
mod embed_encoding;
mod embed_laws;
mod embeddings;
mod env_headers;
pub(crate) mod fake;
mod floods;
mod keys;
mod middleware;
mod replies;
mod retry;
mod routing;
mod text_stream;
mod timeouts;
mod vertex;
