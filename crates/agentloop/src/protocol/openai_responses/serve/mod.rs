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
use http::{HeaderMap, Method};

use crate::chat::ChatResponse;
use crate::error::{Error, Result};
use crate::models::ModelInfo;
use crate::protocol::openai::serve;
use crate::protocol::serve::{Operation, Reply, Serve, ServedChat, ServedEmbed, WriteStream};

/// A server of this protocol.
pub(super) struct Server;

impl Serve for Server {
    fn route(&self, method: &Method, path: &str, _: &HeaderMap) -> Option<Operation> {
        request::route(method, path)
    }

    fn read_chat(&self, _: &str, body: &[u8]) -> Result<ServedChat> {
        request::read_chat(body)
    }

    fn read_embed(&self, path: &str, body: &[u8]) -> Result<ServedEmbed> {
        serve::read_embed(path, body)
    }

    fn write_body(&self, response: &ChatResponse) -> Bytes {
        response::write_body(response, &Reply::default())
    }

    fn write_body_for(&self, response: &ChatResponse, reply: &Reply) -> Bytes {
        response::write_body(response, reply)
    }

    fn write_error(&self, error: &Error) -> Bytes {
        serve::write_error(error)
    }

    fn write_models(&self, models: &[ModelInfo]) -> Bytes {
        serve::write_models(models)
    }

    fn write_model(&self, model: &ModelInfo) -> Bytes {
        serve::write_model(model)
    }

    fn write_count(&self, tokens: u64) -> Bytes {
        response::write_count(tokens)
    }

    fn stream_writer(&self, _: bool) -> Box<dyn WriteStream> {
        Box::new(stream::StreamWriter::default())
    }

    fn stream_writer_for(&self, _: bool, reply: &Reply) -> Box<dyn WriteStream> {
        Box::new(stream::StreamWriter::new(reply))
    }
}
