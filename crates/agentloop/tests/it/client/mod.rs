//! The client, over a transport that answers from memory.

mod blocking;
mod derived;
mod embed_encoding;
mod embed_laws;
mod embeddings;
pub(crate) mod fake;
mod floods;
mod keys;
mod middleware;
mod replies;
mod retry;
mod routing;
mod text_stream;
mod timeouts;
