//! The client, over a transport that answers from memory.

mod embeddings;
mod fake;
mod keys;
mod middleware;
mod replies;
mod routing;
mod timeouts;
