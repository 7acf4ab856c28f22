//! The server's side: reads requests and writes responses.

mod blocks;
mod client_tools;
mod media;
mod messages;
mod request;
mod response;
mod server_tools;
mod settings;
mod stream;
mod tools;

use crate::protocol::serve::{Serve, delegate};

/// A server of this protocol.
pub(super) struct Server;

impl Serve for Server {
    delegate!(route, read_chat, write_body, write_others, write_count, stream_writer);
}
