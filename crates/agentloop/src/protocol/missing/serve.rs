//! The server's side.

use bytes::Bytes;
use http::{HeaderMap, Method};

use super::Missing;
use crate::chat::{ChatResponse, ChatStreamEvent};
use crate::error::{Error, Result};
use crate::models::ModelInfo;
use crate::protocol::serve::{Operation, Serve, ServedChat, WriteStream};

impl Serve for Missing {
    fn route(&self, _: &Method, _: &str, _: &HeaderMap) -> Option<Operation> {
        None
    }

    fn read_chat(&self, _: &str, _: &[u8]) -> Result<ServedChat> {
        self.fail()
    }

    fn write_body(&self, _: &ChatResponse) -> Bytes {
        Bytes::new()
    }

    fn write_error(&self, _: &Error) -> Bytes {
        Bytes::new()
    }

    fn write_models(&self, _: &[ModelInfo]) -> Bytes {
        Bytes::new()
    }

    fn write_model(&self, _: &ModelInfo) -> Bytes {
        Bytes::new()
    }

    fn stream_writer(&self, _: bool) -> Box<dyn WriteStream> {
        Box::new(Self(self.0))
    }
}

impl WriteStream for Missing {
    fn write(&mut self, _: &ChatStreamEvent) -> Bytes {
        Bytes::new()
    }
}
