//! The server's side of every protocol: reads requests and writes responses.
//!
//! A server that calls these functions supports all protocols without naming any of them. The simulator is one.

pub(super) mod frames;
pub(super) mod known;
mod lines;
pub(super) mod notes;
mod reply;
mod task;

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::{Map, Value};

use super::{Protocol, codec};
use crate::chat::{
    ChatRequest, ChatResponse, ChatStreamEvent, EmbedRequest, EmbedResponse, Warning,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_REPEATED_BYTES;
use crate::models::ModelInfo;

pub use super::embed::VectorForm;
pub use super::multipart::{FormPart, read_form};
pub use reply::Reply;
pub use task::{
    ServedBody, ServedTask, TaskForm, read_task, route_task, write_task, write_task_event,
};

/// Returns the error of a request that is not one of the protocol's.
pub(super) fn refused(why: impl fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("the request cannot be read: {why}"))
        .with_status(400)
}

/// How a server of a protocol reads requests and writes responses.
pub(crate) trait Serve: Sync {
    fn route(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Operation>;

    /// Returns how streams are framed, unless a request asks for another framing.
    fn framing(&self) -> StreamFraming {
        StreamFraming::Events
    }

    /// Returns content as one frame of a stream.
    fn frame(&self, content: &[u8]) -> Bytes {
        match self.framing() {
            StreamFraming::Lines => [content, b"\n"].concat().into(),
            _ => [b"data: ", content, b"\n\n"].concat().into(),
        }
    }

    fn read_chat(&self, path: &str, body: &[u8]) -> Result<ServedChat>;

    fn read_embed(&self, _path: &str, _body: &[u8]) -> Result<ServedEmbed> {
        let message = "this protocol has no embeddings";
        Err(Error::new(ErrorKind::Unsupported, message).with_status(404))
    }

    fn write_body(&self, response: &ChatResponse) -> Bytes;

    /// Writes the response to a request of which something was remembered.
    fn write_body_for(&self, response: &ChatResponse, _reply: &Reply) -> Bytes {
        self.write_body(response)
    }

    fn write_error(&self, error: &Error) -> Bytes;

    fn write_models(&self, models: &[ModelInfo]) -> Bytes;

    fn write_model(&self, model: &ModelInfo) -> Bytes;

    fn write_count(&self, _tokens: u64) -> Bytes {
        Bytes::new()
    }

    fn stream_writer(&self, include_usage: bool) -> Box<dyn WriteStream>;

    /// Returns a writer of the response to a request of which something was remembered.
    fn stream_writer_for(&self, include_usage: bool, _reply: &Reply) -> Box<dyn WriteStream> {
        self.stream_writer(include_usage)
    }
}

/// Implements methods of [`Serve`] with the functions that every folder has in the files of the same names.
macro_rules! delegate {
    ($($method:ident),+ $(,)?) => {
        $($crate::protocol::serve::delegate!(@ $method);)+
    };
    (@ route) => {
        fn route(
            &self,
            method: &http::Method,
            path: &str,
            headers: &http::HeaderMap,
        ) -> Option<$crate::protocol::serve::Operation> {
            request::route(method, path, headers)
        }
    };
    (@ read_chat) => {
        fn read_chat(
            &self,
            path: &str,
            body: &[u8],
        ) -> $crate::error::Result<$crate::protocol::serve::ServedChat> {
            request::read_chat(path, body)
        }
    };
    (@ read_embed) => {
        fn read_embed(
            &self,
            path: &str,
            body: &[u8],
        ) -> $crate::error::Result<$crate::protocol::serve::ServedEmbed> {
            request::read_embed(path, body)
        }
    };
    (@ write_body) => {
        fn write_body(&self, response: &$crate::chat::ChatResponse) -> bytes::Bytes {
            response::write_body(response)
        }
    };
    (@ write_others) => {
        fn write_error(&self, error: &$crate::error::Error) -> bytes::Bytes {
            response::write_error(error)
        }

        fn write_models(&self, models: &[$crate::models::ModelInfo]) -> bytes::Bytes {
            response::write_models(models)
        }

        fn write_model(&self, model: &$crate::models::ModelInfo) -> bytes::Bytes {
            response::write_model(model)
        }
    };
    (@ write_count) => {
        fn write_count(&self, tokens: u64) -> bytes::Bytes {
            response::write_count(tokens)
        }
    };
    (@ stream_writer) => {
        fn stream_writer(&self, _: bool) -> Box<dyn $crate::protocol::serve::WriteStream> {
            Box::new(stream::StreamWriter::default())
        }
    };
}
pub(super) use delegate;

/// Writes a stream in the wire format of one protocol.
pub(crate) trait WriteStream: fmt::Debug + Send + Sync {
    /// Returns the bytes of an event; none if the protocol has no such event.
    fn write(&mut self, event: &ChatStreamEvent) -> Bytes;
}

/// A chat request that a server received.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServedChat {
    /// The request. Fields that have no unified name are in `extra_body`.
    pub request: ChatRequest,
    /// Whether the response is to be streamed.
    pub stream: bool,
    /// Whether a stream is to end with the usage.
    pub include_usage: bool,
    /// How a stream is to be framed.
    pub framing: StreamFraming,
    /// What the reader changed or left out, because a [`ChatRequest`] has no place for it.
    pub warnings: Vec<Warning>,
    /// What the writer of the response needs to know of the request.
    pub reply: Reply,
}

impl ServedChat {
    /// Returns a request of a protocol whose streams always report the usage. The fields are those that are left.
    pub(super) fn new(
        request: ChatRequest,
        fields: Map<String, Value>,
        stream: bool,
        framing: StreamFraming,
        notes: notes::Notes,
    ) -> Self {
        Self {
            request: ChatRequest { extra_body: fields, ..request },
            stream,
            include_usage: true,
            framing,
            warnings: notes.into_warnings(),
            reply: Reply::default(),
        }
    }
}

/// How the events of a stream are framed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StreamFraming {
    /// As server-sent events.
    #[default]
    Events,
    /// As the elements of one JSON array. Gemini streams this way without `alt=sse`.
    Array,
    /// As lines, each of which is a JSON object.
    Lines,
    /// As the binary frames of Amazon, with checksums.
    Frames,
    /// As the binary frames of Amazon's InvokeModel, which contain the data of server-sent events.
    Chunks,
}

impl StreamFraming {
    /// Returns the content type of such a stream.
    ///
    /// ```
    /// use agentloop::protocol::serve::StreamFraming;
    ///
    /// assert_eq!(StreamFraming::Events.content_type(), "text/event-stream");
    /// ```
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream",
            Self::Array => "application/json",
            Self::Lines => "application/x-ndjson",
            Self::Frames | Self::Chunks => "application/vnd.amazon.eventstream",
        }
    }
}

/// An embeddings request that a server received.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServedEmbed {
    /// The request.
    pub request: EmbedRequest,
    /// How the vectors are to be written.
    pub form: VectorForm,
}

/// The calls that a server can receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// To respond to a conversation.
    Chat,
    /// Turns texts into vectors.
    Embed,
    /// To list the models.
    Models,
    /// To describe one model, which the end of the path names.
    Model,
    /// To count the tokens of a conversation.
    Count,
}

/// Returns the operation of a call, by its method, the end of its path and (if two protocols share a path) its headers.
/// Returns `None` if the protocol has no such call.
///
/// ```
/// use agentloop::Protocol;
/// use agentloop::protocol::serve::{Operation, route};
/// use http::{HeaderMap, Method};
///
/// let headers = HeaderMap::new();
/// let operation = route(Protocol::OpenAiChat, &Method::POST, "/v1/chat/completions", &headers);
/// assert_eq!(operation, Some(Operation::Chat));
/// ```
pub fn route(
    protocol: Protocol,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Option<Operation> {
    codec(protocol).server().route(method, path, headers)
}

/// Returns how the streams of a protocol are framed, unless a request asks for another framing.
///
/// ```
/// use agentloop::Protocol;
/// use agentloop::protocol::serve::{StreamFraming, framing};
///
/// assert_eq!(framing(Protocol::Ollama), StreamFraming::Lines);
/// ```
pub fn framing(protocol: Protocol) -> StreamFraming {
    codec(protocol).server().framing()
}

/// Returns content as one frame of a stream of a protocol. It is not checked, so faults can be simulated.
///
/// ```
/// use agentloop::Protocol;
/// use agentloop::protocol::serve::frame;
///
/// assert_eq!(frame(Protocol::OpenAiChat, b"{}"), "data: {}\n\n");
/// ```
pub fn frame(protocol: Protocol, content: &[u8]) -> Bytes {
    codec(protocol).server().frame(content)
}

/// Returns the key of a request, in whichever header it is.
///
/// ```
/// use agentloop::protocol::serve::shown_key;
/// use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
///
/// let mut headers = HeaderMap::new();
/// headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer secret"));
/// assert_eq!(shown_key(&headers), Some("secret"));
/// ```
pub fn shown_key(headers: &HeaderMap) -> Option<&str> {
    crate::provider::AUTH_HEADERS.iter().find_map(|name| {
        let value = headers.get(*name)?.to_str().ok()?;
        // The name of the scheme may be in capitals or not (RFC 9110, section 11.1).
        Some(match value.split_at_checked("Bearer ".len()) {
            Some((scheme, key)) if scheme.eq_ignore_ascii_case("Bearer ") => key.trim_start(),
            _ => value,
        })
    })
}

/// Reads a chat request: its path (with its query) and its body.
///
/// ```
/// use agentloop::Protocol;
/// use agentloop::protocol::serve::read_chat;
///
/// let body = br#"{"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}"#;
/// let served = read_chat(Protocol::OpenAiChat, "/v1/chat/completions", body)?;
/// assert_eq!((served.request.model.as_str(), served.stream), ("m", true));
/// # Ok::<(), agentloop::Error>(())
/// ```
///
/// # Errors
///
/// When it is not a request of this protocol.
pub fn read_chat(protocol: Protocol, path: &str, body: &[u8]) -> Result<ServedChat> {
    codec(protocol).server().read_chat(path, body)
}

/// Reads an embeddings request: its path and its body.
///
/// ```
/// use agentloop::Protocol;
/// use agentloop::protocol::serve::read_embed;
///
/// let served = read_embed(Protocol::OpenAiChat, "/v1/embeddings", br#"{"model":"m","input":["a"]}"#)?;
/// assert_eq!(served.request.input.as_slice(), ["a"]);
/// # Ok::<(), agentloop::Error>(())
/// ```
///
/// # Errors
///
/// When it is not a request of this protocol.
pub fn read_embed(protocol: Protocol, path: &str, body: &[u8]) -> Result<ServedEmbed> {
    codec(protocol).server().read_embed(path, body)
}

/// Writes a complete response.
///
/// ```
/// use agentloop::protocol::serve::write_body;
/// use agentloop::{ChatResponse, Protocol};
///
/// let response = ChatResponse::from_parts("lab/m", ["Hi"]);
/// let body = write_body(Protocol::Anthropic, &response);
/// assert!(body.starts_with(b"{"));
/// ```
pub fn write_body(protocol: Protocol, response: &ChatResponse) -> Bytes {
    codec(protocol).server().write_body(response)
}

/// Writes the complete response to a request, in the form in which the request declared its tools, and with the settings
/// that the response repeats.
///
/// ```
/// use agentloop::protocol::serve::{read_chat, write_body_for};
/// use agentloop::{ChatResponse, Protocol};
///
/// let body = br#"{"model":"m","input":"Hi"}"#;
/// let served = read_chat(Protocol::OpenAiResponses, "/v1/responses", body)?;
/// let response = ChatResponse::from_parts("lab/m", ["Hello"]);
/// assert!(write_body_for(Protocol::OpenAiResponses, &response, &served.reply).starts_with(b"{"));
/// # Ok::<(), agentloop::Error>(())
/// ```
pub fn write_body_for(protocol: Protocol, response: &ChatResponse, reply: &Reply) -> Bytes {
    codec(protocol).server().write_body_for(response, reply)
}

/// Writes the body of a failed call. Its status is the error's, or 500.
///
/// ```
/// use agentloop::protocol::serve::write_error;
/// use agentloop::{Error, ErrorKind, Protocol};
///
/// let body = write_error(Protocol::Gemini, &Error::new(ErrorKind::Auth, "the key is not valid").with_status(401));
/// assert!(String::from_utf8_lossy(&body).contains("the key is not valid"));
/// ```
pub fn write_error(protocol: Protocol, error: &Error) -> Bytes {
    codec(protocol).server().write_error(error)
}

/// Writes an embeddings response in the requested form.
///
/// ```
/// use agentloop::protocol::serve::{read_embed, write_embed};
/// use agentloop::{AgentLoop, Protocol};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// let body = br#"{"model":"sim/embed","input":["a"]}"#;
/// let served = read_embed(Protocol::OpenAiChat, "/v1/embeddings", body)?;
/// let response = ai.embed(served.request).await?;
/// let body = write_embed(&response, served.form);
/// assert!(String::from_utf8_lossy(&body).contains("\"embedding\""));
/// # Ok(())
/// # }
/// ```
pub fn write_embed(response: &EmbedResponse, form: VectorForm) -> Bytes {
    super::embed::write(response, form)
}

/// Writes a list of models.
///
/// ```
/// use agentloop::protocol::serve::write_models;
/// use agentloop::{ModelInfo, Protocol};
///
/// let body = write_models(Protocol::OpenAiChat, &[ModelInfo::new("lab", "m")]);
/// assert!(String::from_utf8_lossy(&body).contains("\"m\""));
/// ```
pub fn write_models(protocol: Protocol, models: &[ModelInfo]) -> Bytes {
    codec(protocol).server().write_models(models)
}

/// Writes the description of one model.
///
/// ```
/// use agentloop::protocol::serve::write_model;
/// use agentloop::{ModelInfo, Protocol};
///
/// let body = write_model(Protocol::OpenAiChat, &ModelInfo::new("lab", "m"));
/// assert!(String::from_utf8_lossy(&body).contains("\"m\""));
/// ```
pub fn write_model(protocol: Protocol, model: &ModelInfo) -> Bytes {
    codec(protocol).server().write_model(model)
}

/// Writes a number of tokens. The body is empty if the protocol has no such call.
///
/// ```
/// use agentloop::Protocol;
/// use agentloop::protocol::serve::write_count;
///
/// assert_eq!(write_count(Protocol::Anthropic, 8), r#"{"input_tokens":8}"#);
/// ```
pub fn write_count(protocol: Protocol, tokens: u64) -> Bytes {
    codec(protocol).server().write_count(tokens)
}

/// Writes a stream in the wire format of a protocol, event by event.
///
/// ```
/// use agentloop::protocol::serve::StreamWriter;
/// use agentloop::{ChatResponse, Protocol};
///
/// let response = ChatResponse::from_parts("lab/m", ["Hi"]);
/// let mut writer = StreamWriter::new(Protocol::OpenAiChat, true);
/// let stream: Vec<u8> = response.unfold().iter().flat_map(|event| writer.write(event)).collect();
/// assert!(stream.ends_with(b"data: [DONE]\n\n"));
/// ```
#[derive(Debug)]
pub struct StreamWriter {
    writer: Box<dyn WriteStream>,
    framing: StreamFraming,
}

impl StreamWriter {
    /// Creates a writer. The stream ends with the usage if `include_usage` is set and the protocol leaves it to the
    /// caller.
    pub fn new(protocol: Protocol, include_usage: bool) -> Self {
        Self::of(protocol, codec(protocol).server().stream_writer(include_usage))
    }

    /// Creates a writer of the response to a request, in the form in which the request declared its tools, and with the
    /// settings that the response repeats.
    ///
    /// ```
    /// use agentloop::protocol::serve::{StreamWriter, read_chat};
    /// use agentloop::{ChatResponse, Protocol};
    ///
    /// let body = br#"{"model":"m","input":"Hi","stream":true}"#;
    /// let served = read_chat(Protocol::OpenAiResponses, "/v1/responses", body)?;
    /// let mut writer = StreamWriter::for_reply(Protocol::OpenAiResponses, served.include_usage, &served.reply);
    /// let events = ChatResponse::from_parts("lab/m", ["Hello"]).unfold();
    /// assert!(writer.write(&events[0]).starts_with(b"event: response.created"));
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn for_reply(protocol: Protocol, include_usage: bool, reply: &Reply) -> Self {
        Self::of(protocol, codec(protocol).server().stream_writer_for(include_usage, reply))
    }

    fn of(protocol: Protocol, writer: Box<dyn WriteStream>) -> Self {
        Self { writer, framing: framing(protocol) }
    }

    /// Sets the framing that a request asks for. Only [`StreamFraming::Chunks`] changes what is written.
    ///
    /// ```
    /// use agentloop::protocol::serve::{StreamFraming, StreamWriter};
    /// use agentloop::{ChatResponse, Protocol};
    ///
    /// let mut writer = StreamWriter::new(Protocol::Anthropic, true).framed(StreamFraming::Chunks);
    /// let events = ChatResponse::from_parts("lab/m", ["Hi"]).unfold();
    /// let frame = writer.write(&events[0]);
    /// assert_eq!(frame[..4], u32::try_from(frame.len()).unwrap().to_be_bytes());
    /// ```
    #[must_use]
    pub fn framed(mut self, framing: StreamFraming) -> Self {
        if framing == StreamFraming::Chunks {
            self.framing = framing;
        }
        self
    }

    /// Returns the bytes of an event; none if the protocol has no such event.
    ///
    /// Most protocols repeat the response's id and the name of its model in every event. Of longer ones than [`MAX_REPEATED_BYTES`] the rest is
    /// cut off, because a stream would be as long as they are times its events.
    pub fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
        let written = match shortened(event) {
            Some(event) => self.writer.write(&event),
            None => self.writer.write(event),
        };
        match self.framing {
            // Bytes must stay as they are.
            StreamFraming::Frames => written,
            StreamFraming::Chunks => frames::write_chunks(&written),
            _ => lines::escape(written),
        }
    }
}

/// Returns the start of a response with a shorter id and model, if one is too long to be repeated.
fn shortened(event: &ChatStreamEvent) -> Option<ChatStreamEvent> {
    let ChatStreamEvent::MessageStart { id, model, .. } = event else { return None };
    if id.len().max(model.len()) <= MAX_REPEATED_BYTES {
        return None;
    }
    let mut event = event.clone();
    if let ChatStreamEvent::MessageStart { id, model, .. } = &mut event {
        for text in [id, model] {
            text.truncate(text.floor_char_boundary(MAX_REPEATED_BYTES));
        }
    }
    Some(event)
}
