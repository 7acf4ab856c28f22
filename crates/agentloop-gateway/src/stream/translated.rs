//! A response that is written in the format of another API.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{SystemTime, UNIX_EPOCH};

use agentloop::carry::Carrier;
use agentloop::protocol::serve::StreamWriter;
use agentloop::{ChatResponse, ChatStream, ChatStreamEvent, Cost, Error, PartDelta, Usage};
use bytes::{Bytes, BytesMut};
use futures_core::Stream;

use super::source::{Source, error_event};
use crate::record::Record;

/// What is done with the complete response.
pub(crate) type AtEnd = Arc<dyn Fn(&ChatResponse) + Send + Sync>;

/// A response that is written in the format of another API.
pub(crate) struct Translated {
    /// Events that were read already.
    first: std::vec::IntoIter<ChatStreamEvent>,
    events: ChatStream,
    carrier: Carrier,
    writer: StreamWriter,
    /// The id that the client gets, in place of the provider's.
    id: Option<String>,
    /// The name of the model as the client wrote it. Claude Code 2.1.325 drops the thinking of a stored session if the response
    /// names another one.
    model: String,
    /// When the request arrived (Unix seconds), for providers that do not state a time.
    created: i64,
    rewritten: Vec<ChatStreamEvent>,
    /// The usage as far as it was reported.
    usage: Option<Usage>,
    /// The usage and the cost of the complete response.
    end: Option<Box<(Usage, Option<Cost>)>>,
    received: usize,
    ended: bool,
    at_end: Option<AtEnd>,
}

impl Translated {
    pub(crate) fn new(
        first: Vec<ChatStreamEvent>,
        events: ChatStream,
        carrier: Carrier,
        writer: StreamWriter,
        id: Option<String>,
        model: String,
        at_end: Option<AtEnd>,
    ) -> Self {
        Self {
            first: first.into_iter(),
            events,
            carrier,
            writer,
            id,
            model,
            created: now(),
            rewritten: Vec::new(),
            usage: None,
            end: None,
            received: 0,
            ended: false,
            at_end,
        }
    }

    fn see(&mut self, event: ChatStreamEvent) -> Bytes {
        match &event {
            ChatStreamEvent::ContentDelta { delta, .. } => {
                self.received += match delta {
                    PartDelta::Text { text } => text.len(),
                    PartDelta::Thinking { thinking } => thinking.len(),
                    PartDelta::ToolCallArguments { arguments } => arguments.len(),
                    _ => 0,
                };
            }
            ChatStreamEvent::Usage { usage, .. } => self.usage = Some(usage.clone()),
            ChatStreamEvent::MessageDone { response } => {
                self.end = Some(Box::new((response.usage.clone(), response.cost.clone())));
            }
            _ => {}
        }
        self.carrier.push(event, &mut self.rewritten);
        let mut bytes = BytesMut::new();
        for mut event in self.rewritten.drain(..) {
            match &mut event {
                ChatStreamEvent::MessageStart { id, model, created, .. } => {
                    created.get_or_insert(self.created);
                    if let Some(own) = &self.id {
                        id.clone_from(own);
                    }
                    model.clone_from(&self.model);
                }
                ChatStreamEvent::MessageDone { response } => {
                    response.created.get_or_insert(self.created);
                    if let Some(own) = &self.id {
                        response.id.clone_from(own);
                    }
                    response.model.clone_from(&self.model);
                    if let Some(at_end) = &self.at_end {
                        at_end(response);
                    }
                }
                _ => {}
            }
            let written = self.writer.write(&event);
            if bytes.is_empty() {
                bytes = written.into();
            } else {
                bytes.extend_from_slice(&written);
            }
        }
        bytes.freeze()
    }
}

/// Returns the time in Unix seconds.
pub(crate) fn now() -> i64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(time.as_secs()).unwrap_or_default()
}

impl Source for Translated {
    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        loop {
            if self.ended {
                return Poll::Ready(None);
            }
            let event = match self.first.next() {
                Some(event) => Some(Ok(event)),
                None => ready!(Pin::new(&mut self.events).poll_next(context)),
            };
            match event {
                Some(Ok(event)) => {
                    let bytes = self.see(event);
                    if !bytes.is_empty() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Some(Err(error)) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
                None => self.ended = true,
            }
        }
    }

    fn write_error(&mut self, error: &Error) -> Bytes {
        self.writer.write(&error_event(error))
    }

    fn report(&mut self, record: &mut Record) {
        record.received = self.received;
        record.usage = self.usage.take();
        if let Some(end) = self.end.take() {
            record.usage = Some(end.0).filter(|usage| !usage.is_empty());
            record.cost = end.1;
            record.is_complete = true;
        }
    }
}
