//! The server's side: reads requests and writes responses.

mod messages;
mod request;
mod response;
mod stream;
mod tools;

use crate::protocol::serve::{Serve, StreamFraming, delegate};

/// A server of this protocol.
pub(super) struct Server;

impl Serve for Server {
    delegate!(route, read_chat, read_embed, write_body, write_others, stream_writer);

    fn framing(&self) -> StreamFraming {
        StreamFraming::Lines
    }
}
