//! The other side of the wire: reads requests and writes answers, as a server of this protocol does.

use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::error::{Error, ErrorKind, Result};
use crate::event::ChatStreamEvent;
use crate::model_info::ModelInfo;
use crate::protocol::serve::{Operation, ServedChat, ServedEmbed};
use crate::request::EmbedResponse;
use crate::response::ChatResponse;

/// What a call asks for; `None` when the protocol has no such call.
pub fn route(_: &Method, _: &str, _: &HeaderMap) -> Option<Operation> {
    None
}

/// Reads a chat request.
///
/// # Errors
///
/// When it is not a request of this protocol.
pub fn read_chat(_: &str, _: &[u8]) -> Result<ServedChat> {
    Err(Error::new(ErrorKind::Unsupported, "not spoken yet"))
}

/// Reads an embeddings request.
///
/// # Errors
///
/// When it is not a request of this protocol.
pub fn read_embed(_: &str, _: &[u8]) -> Result<ServedEmbed> {
    Err(Error::new(ErrorKind::Unsupported, "not spoken yet"))
}

/// The body of a whole answer.
pub fn write_body(_: &ChatResponse) -> Bytes {
    Bytes::new()
}

/// The body of an answer that says that the call failed.
pub fn write_error(_: &Error) -> Bytes {
    Bytes::new()
}

/// The body of an embeddings answer.
pub fn write_embed(_: &EmbedResponse) -> Bytes {
    Bytes::new()
}

/// The body of a list of models.
pub fn write_models(_: &[ModelInfo]) -> Bytes {
    Bytes::new()
}

/// The body of a token count.
pub fn write_count(_: u64) -> Bytes {
    Bytes::new()
}

/// Writes a stream, event by event.
#[derive(Clone, Debug, Default)]
pub struct StreamWriter {}

impl StreamWriter {
    /// A stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes of an event; none for those that this wire does not have.
    pub fn write(&mut self, _: &ChatStreamEvent) -> Bytes {
        Bytes::new()
    }
}
