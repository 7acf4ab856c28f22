//! The server's side: reads requests and writes responses.

mod compaction;
mod content;
mod echo;
mod item;
mod items;
mod request;
mod response;
mod stream;

use bytes::Bytes;

use crate::chat::ChatResponse;
use crate::protocol::serve::{Reply, Serve, WriteStream, delegate};

/// A server of this protocol.
pub(super) struct Server;

impl Serve for Server {
    delegate!(route, read_chat, read_embed, write_others, write_count, stream_writer);

    fn write_body(&self, response: &ChatResponse) -> Bytes {
        response::write_body(response, &Reply::default())
    }

    fn write_body_for(&self, response: &ChatResponse, reply: &Reply) -> Bytes {
        response::write_body(response, reply)
    }

    fn stream_writer_for(&self, _: bool, reply: &Reply) -> Box<dyn WriteStream> {
        Box::new(stream::StreamWriter::new(reply))
    }
}
