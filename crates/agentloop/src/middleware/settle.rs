//! What several middlewares do with a response.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::Response;
use crate::chat::{ChatStreamEvent, TaskEvent, Warning};
use crate::error::{Error, Result};
use crate::stream::ChatStream;

/// Reads a complete response to its end. If it is cut off it can still be retried, because its caller has seen nothing of it.
pub(super) async fn read_to_end(stream: ChatStream) -> Result<ChatStream> {
    if stream.is_whole() { Ok(stream) } else { Box::pin(read(stream)).await }
}

async fn read(mut stream: ChatStream) -> Result<ChatStream> {
    // Few complete responses have more events.
    let mut events = Vec::with_capacity(16);
    while let Some(event) = stream.next().await {
        events.push(event.map_err(make_retryable)?);
    }
    Ok(ChatStream::whole(events))
}

/// Makes an error retryable if its kind is, also after the first content: the caller has not seen any of it.
fn make_retryable(error: Error) -> Error {
    let retryable = error.is_retryable() || error.kind().is_retryable();
    error.with_retryable(retryable)
}

/// Adds warnings to a response, before its own.
pub(super) fn add_warnings(response: Response, warnings: Vec<Warning>) -> Response {
    if warnings.is_empty() {
        return response;
    }
    match response {
        Response::Events(events) => {
            let events = Warned { events, ahead: Vec::new(), warnings };
            Response::Events(ChatStream::new(events))
        }
        Response::Embedding(mut response) => {
            response.warnings.splice(0..0, warnings);
            Response::Embedding(response)
        }
        Response::Task(mut response) => {
            response.warnings_mut().splice(0..0, warnings);
            Response::Task(response)
        }
        Response::TaskStream(events) => {
            let mut warnings = warnings;
            Response::TaskStream(events.map_events(move |event| {
                if let TaskEvent::Done { response } = event {
                    response.warnings_mut().splice(0..0, std::mem::take(&mut warnings));
                }
            }))
        }
    }
}

/// Adds warnings to a stream right after `message.start`, and to the response at its end, which stays the fold of the events.
struct Warned {
    events: ChatStream,
    /// Warnings that are still to be returned, in reverse order.
    ahead: Vec<Warning>,
    warnings: Vec<Warning>,
}

impl Stream for Warned {
    type Item = Result<ChatStreamEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(warning) = self.ahead.pop() {
            return Poll::Ready(Some(Ok(ChatStreamEvent::Warning { warning })));
        }
        let item = Pin::new(&mut self.events).poll_next(context);
        item.map(|item| {
            Some(match item? {
                Ok(ChatStreamEvent::MessageDone { mut response }) => {
                    response.warnings.splice(0..0, self.warnings.iter().cloned());
                    Ok(ChatStreamEvent::MessageDone { response })
                }
                Ok(event) => {
                    if matches!(event, ChatStreamEvent::MessageStart { .. }) {
                        self.ahead = self.warnings.iter().rev().cloned().collect();
                    }
                    Ok(event)
                }
                Err(error) => Err(match error.partial() {
                    Some(partial) => {
                        let mut partial = partial.clone();
                        partial.warnings.splice(0..0, self.warnings.iter().cloned());
                        error.with_partial(partial)
                    }
                    None => error,
                }),
            })
        })
    }
}

/// Describes an error in one line, for warnings.
pub(super) fn one_line(error: &Error) -> String {
    const KEPT: usize = 200;
    let message = error.message();
    let line: String =
        message.chars().map(|c| if c == '\n' { ' ' } else { c }).take(KEPT).collect();
    let more = if message.chars().count() > KEPT { "…" } else { "" };
    match error.status() {
        Some(status) => format!("{}: {line}{more} (status {status})", error.kind()),
        None => format!("{}: {line}{more}", error.kind()),
    }
}
