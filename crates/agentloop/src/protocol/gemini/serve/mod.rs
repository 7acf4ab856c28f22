//! The server's side: reads requests and writes responses.

mod config;
mod contents;
mod embed;
mod names;
mod parts;
mod request;
mod response;
mod schema;
mod stream;
mod tools;
mod written;

use crate::protocol::serve::{Serve, delegate};

/// A server of this protocol.
pub(super) struct Server;

impl Serve for Server {
    delegate!(route, read_chat, read_embed, write_body, write_others, write_count, stream_writer);
}
