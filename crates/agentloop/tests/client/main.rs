//! The client, over a transport that answers from memory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that fails, fails"
)]

mod embed_encoding;
mod embed_laws;
mod embeddings;
mod fake;
mod keys;
mod middleware;
mod replies;
mod retry;
mod routing;
mod timeouts;
