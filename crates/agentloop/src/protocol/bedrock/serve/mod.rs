//! The server's side: reads requests and writes responses.

mod blocks;
mod messages;
mod request;
mod response;
mod stream;
mod tools;

use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::chat::ChatResponse;
use crate::error::{Error, Result};
use crate::models::ModelInfo;
use crate::protocol::serve::frames::write_frame;
use crate::protocol::serve::{
    Operation, Serve, ServedChat, ServedEmbed, StreamFraming, WriteStream,
};

/// A server of this protocol.
pub(super) struct Server;

impl Serve for Server {
    fn route(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Operation> {
        request::route(method, path, headers)
    }

    fn framing(&self) -> StreamFraming {
        StreamFraming::Frames
    }

    fn frame(&self, content: &[u8]) -> Bytes {
        event_frame("contentBlockDelta", content)
    }

    fn read_chat(&self, path: &str, body: &[u8]) -> Result<ServedChat> {
        request::read_chat(path, body)
    }

    fn read_embed(&self, path: &str, body: &[u8]) -> Result<ServedEmbed> {
        request::read_embed(path, body)
    }

    fn write_body(&self, response: &ChatResponse) -> Bytes {
        response::write_body(response)
    }

    fn write_error(&self, error: &Error) -> Bytes {
        response::write_error(error)
    }

    fn write_models(&self, models: &[ModelInfo]) -> Bytes {
        response::write_models(models)
    }

    fn write_model(&self, model: &ModelInfo) -> Bytes {
        response::write_model(model)
    }

    fn write_count(&self, tokens: u64) -> Bytes {
        response::write_count(tokens)
    }

    fn stream_writer(&self, _: bool) -> Box<dyn WriteStream> {
        Box::new(stream::StreamWriter::default())
    }
}

/// Returns the frame of an event.
fn event_frame(name: &str, content: &[u8]) -> Bytes {
    let headers =
        [(":event-type", name), (":content-type", "application/json"), (":message-type", "event")];
    write_frame(&headers, content)
}

/// Returns the frame of an exception.
fn exception_frame(name: &str, content: &[u8]) -> Bytes {
    let headers = [
        (":exception-type", name),
        (":content-type", "application/json"),
        (":message-type", "exception"),
    ];
    write_frame(&headers, content)
}
