//! Writes the pieces of a response as events, and the events in the wire format.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{SystemTime, UNIX_EPOCH};

use agentloop::protocol::serve::{ServedChat, StreamFraming, StreamWriter, write_body_for};
use agentloop::transport::Body;
use agentloop::{
    ChatResponse, ChatStreamEvent, Error, ErrorKind, FinishReason, Fold, Logprobs, Protocol,
    Result, Usage, UsageDetails,
};
use bytes::Bytes;
use futures_core::Stream;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;

use crate::calls::Parts;
use crate::engine::{Engine, Wake};
use crate::job::Piece;
use crate::local::NAME;
use crate::transport::{json as json_response, unexpected};

/// The pieces of a response. Dropping them cancels the chat.
#[derive(Debug)]
pub(crate) struct Pieces {
    receiver: Receiver<Piece>,
    wake: Wake,
    /// A stream may outlive its client.
    _engine: Arc<Engine>,
}

impl Pieces {
    pub(crate) fn new(receiver: Receiver<Piece>, wake: Wake, engine: &Arc<Engine>) -> Self {
        Self { receiver, wake, _engine: Arc::clone(engine) }
    }

    /// Returns the next piece. An end without [`Piece::Done`] is an error.
    pub(crate) async fn next(&mut self) -> Result<Piece> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Piece>> {
        let piece = std::task::ready!(self.receiver.poll_recv(context));
        // The model may wait for room.
        self.wake.wake();
        Poll::Ready(match piece {
            Some(Piece::Failed(error)) => Err(error),
            Some(piece) => Ok(piece),
            None => Err(unexpected()),
        })
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.receiver.close();
        self.wake.wake();
    }
}

/// Turns pieces into the events of a response.
#[derive(Debug)]
pub(crate) struct Events {
    id: String,
    model: String,
    created: i64,
    parts: Parts,
    usage: (u64, u64),
    warnings: Vec<String>,
}

impl Events {
    pub(crate) fn new(
        model: &str,
        prompt_tokens: u64,
        cached_tokens: u64,
        has_tools: bool,
        warnings: Vec<String>,
    ) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let id = format!("local-{:x}", now.as_nanos());
        Self {
            parts: Parts::new(has_tools, &format!("call-{:x}", now.as_nanos())),
            id,
            model: model.to_owned(),
            created: i64::try_from(now.as_secs()).unwrap_or(0),
            usage: (prompt_tokens, cached_tokens),
            warnings,
        }
    }

    /// Writes the response to a request, complete or as a stream.
    pub(crate) async fn respond(
        mut self,
        mut pieces: Pieces,
        served: &ServedChat,
    ) -> Result<Response<Body>> {
        let protocol = Protocol::OpenAiChat;
        if served.stream {
            let writer = StreamWriter::for_reply(protocol, true, &served.reply);
            let stream = EventStream::new(self, pieces, writer);
            let mut response = Response::new(Body::stream(stream));
            let kind = StreamFraming::Events.content_type();
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            return Ok(response);
        }
        let mut fold = Fold::new();
        push(&mut fold, &[self.start()])?;
        loop {
            let (events, is_done) = self.convert(pieces.next().await?);
            push(&mut fold, &events)?;
            if is_done {
                break;
            }
        }
        let response = fold.finish().map_err(invalid)?;
        Ok(json_response(self.write(protocol, &response, served)))
    }

    fn start(&self) -> ChatStreamEvent {
        ChatStreamEvent::MessageStart {
            id: self.id.clone(),
            model: self.model.clone(),
            provider: NAME.to_owned(),
            created: Some(self.created),
            request_id: None,
            output_strategy: None,
            cached: false,
        }
    }

    /// Converts a piece. Returns whether it is the last one.
    fn convert(&mut self, piece: Piece) -> (Vec<ChatStreamEvent>, bool) {
        match piece {
            Piece::Text(text) => (self.parts.push(&text), false),
            Piece::Logprob(logprob) => {
                let mut logprobs = Logprobs::default();
                logprobs.content.push(logprob);
                (vec![ChatStreamEvent::Logprobs { choice_index: 0, logprobs }], false)
            }
            Piece::Done { is_truncated, completion_tokens } => {
                let mut events = self.parts.finish();
                let finish_reason = match (is_truncated, self.parts.has_calls()) {
                    (true, _) => FinishReason::Length,
                    (false, true) => FinishReason::ToolCalls,
                    (false, false) => FinishReason::Stop,
                };
                events.push(ChatStreamEvent::MessageDelta {
                    choice_index: 0,
                    finish_reason,
                    raw_finish_reason: None,
                });
                let (prompt, cached) = self.usage;
                let mut details = UsageDetails::default();
                details.cached_tokens = Some(cached);
                let usage = Usage::new(prompt, completion_tokens).with_details(details);
                events.push(ChatStreamEvent::Usage { usage, cost: None });
                (events, true)
            }
            // These two come once, at the beginning and as an error.
            Piece::Started { .. } | Piece::Failed(_) => (Vec::new(), false),
        }
    }

    /// Writes a complete response. The field `warnings` is not one of the protocol, but the client reads it.
    fn write(&self, protocol: Protocol, response: &ChatResponse, served: &ServedChat) -> Bytes {
        let body = write_body_for(protocol, response, &served.reply);
        if self.warnings.is_empty() {
            return body;
        }
        match serde_json::from_slice::<Value>(&body) {
            Ok(Value::Object(mut fields)) => {
                fields.insert("warnings".to_owned(), self.written_warnings());
                Bytes::from(Value::Object(fields).to_string())
            }
            _ => body,
        }
    }

    fn written_warnings(&self) -> Value {
        self.warnings.iter().map(|warning| json!({ "message": warning })).collect()
    }

    /// Writes the warnings as an event of a stream.
    fn stream_warnings(&self) -> Bytes {
        if self.warnings.is_empty() {
            return Bytes::new();
        }
        let chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [],
            "warnings": self.written_warnings(),
        });
        Bytes::from(format!("data: {chunk}\n\n"))
    }
}

/// The bytes of a streamed response.
struct EventStream {
    events: Events,
    pieces: Pieces,
    writer: StreamWriter,
    fold: Option<Fold>,
    waiting: Option<Bytes>,
    is_done: bool,
}

impl EventStream {
    fn new(events: Events, pieces: Pieces, mut writer: StreamWriter) -> Self {
        let mut fold = Fold::new();
        let start = events.start();
        // A message that has just begun is always valid.
        let is_valid = fold.push(&start).is_ok();
        let mut first = writer.write(&start).to_vec();
        first.extend_from_slice(&events.stream_warnings());
        let fold = is_valid.then_some(fold);
        let waiting = (!first.is_empty()).then(|| Bytes::from(first));
        Self { events, pieces, writer, fold, waiting, is_done: false }
    }

    fn write(&mut self, piece: Piece) -> Result<Bytes> {
        let (events, is_last) = self.events.convert(piece);
        let mut fold = self.fold.take().ok_or_else(unexpected)?;
        push(&mut fold, &events)?;
        let mut bytes: Vec<u8> = events.iter().flat_map(|event| self.writer.write(event)).collect();
        if is_last {
            self.is_done = true;
            let response = Box::new(fold.finish().map_err(invalid)?);
            bytes.extend(self.writer.write(&ChatStreamEvent::MessageDone { response }));
        } else {
            self.fold = Some(fold);
        }
        Ok(Bytes::from(bytes))
    }
}

impl Stream for EventStream {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(bytes) = this.waiting.take() {
                return Poll::Ready(Some(Ok(bytes)));
            }
            if this.is_done {
                return Poll::Ready(None);
            }
            let piece = std::task::ready!(this.pieces.poll(context));
            match piece.and_then(|piece| this.write(piece)) {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Poll::Ready(Some(Ok(bytes))),
                Err(error) => {
                    this.is_done = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

fn push(fold: &mut Fold, events: &[ChatStreamEvent]) -> Result<()> {
    events.iter().try_for_each(|event| fold.push(event).map_err(invalid))
}

fn invalid(error: agentloop::FoldError) -> Error {
    Error::new(ErrorKind::Other, "the events of a local model are not valid").with_source(error)
}
