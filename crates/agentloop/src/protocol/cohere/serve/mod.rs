//! The server's side: reads requests and writes responses.

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
use crate::protocol::serve::{Operation, Serve, ServedChat, ServedEmbed, WriteStream};

/// A server of this protocol.
pub(super) struct Server;

impl Serve for Server {
    fn route(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Operation> {
        request::route(method, path, headers)
    }

    fn read_chat(&self, _: &str, body: &[u8]) -> Result<ServedChat> {
        request::read_chat(body)
    }

    fn read_embed(&self, _: &str, body: &[u8]) -> Result<ServedEmbed> {
        request::read_embed(body)
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

    fn stream_writer(&self, _: bool) -> Box<dyn WriteStream> {
        Box::new(stream::StreamWriter::default())
    }
}
