//! What middlewares do with an answer once they have it.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::Answer;
use crate::chat::{ChatStreamEvent, Warning};
use crate::error::{Error, Result};
use crate::stream::ChatStream;

/// Reads an answer that is wanted whole to its end, so that one that breaks off can still be tried again: its caller has
/// seen nothing of it.
pub(super) async fn whole(stream: ChatStream) -> Result<ChatStream> {
    match stream.is_whole() {
        true => Ok(stream),
        // Apart, so that a call whose answer is there already carries nothing of it.
        false => Box::pin(read(stream)).await,
    }
}

async fn read(mut stream: ChatStream) -> Result<ChatStream> {
    // Few answers that come at once have more events.
    let mut events = Vec::with_capacity(16);
    while let Some(event) = stream.next().await {
        events.push(event.map_err(unseen)?);
    }
    Ok(ChatStream::whole(events))
}

/// What was read for nobody yet may be tried again, also after its first content.
fn unseen(error: Error) -> Error {
    let retryable = error.is_retryable() || error.kind().is_retryable();
    error.with_retryable(retryable)
}

/// The answer with more warnings, before its own.
pub(super) fn warned(answer: Answer, warnings: Vec<Warning>) -> Answer {
    if warnings.is_empty() {
        return answer;
    }
    match answer {
        Answer::Events(events) => {
            let events = Warned { events, ahead: Vec::new(), warnings };
            Answer::Events(ChatStream::new(events))
        }
        Answer::Embedding(mut response) => {
            response.warnings.splice(0..0, warnings);
            Answer::Embedding(response)
        }
    }
}

/// Events with more warnings right after `message.start`, and so in the whole answer too: it stays their fold.
struct Warned {
    events: ChatStream,
    /// Warnings that are still to be told, the last first.
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

/// What a failure was, in a line: for warnings, where the whole error would be too much.
pub(super) fn in_a_line(error: &Error) -> String {
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
