//! The server's side: reads requests and writes responses. The list of models is that of generateContent.

mod request;
mod response;
mod steps;
mod stream;
mod tools;

use crate::protocol::serve::{Serve, delegate};

/// A server of this protocol.
pub(super) struct Server;

impl Serve for Server {
    delegate!(route, read_chat, write_body, write_others, stream_writer);
}
