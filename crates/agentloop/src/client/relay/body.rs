//! The body of a relayed response.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;

use super::edge::Tap;
use crate::chat::{ChatResponse, ChatStreamEvent, Cost, Usage};
use crate::client::Reply;
use crate::error::{Error, ErrorKind, Result};

/// The body of a relayed response: the provider's bytes, a stream event by event.
///
/// The last item is an error if the response is incomplete. An error that the provider reports inside its stream is in the
/// bytes already; [`RelayReport::error`] has it too.
pub struct RelayBody {
    source: Source,
    report: RelayReport,
}

enum Source {
    Whole(Option<Bytes>),
    Reply { reply: Box<Reply>, tap: Tap, ends: Ends },
    Ended,
}

/// How a stream goes on.
enum Ends {
    Not,
    /// What is left is returned, then the error if there is one.
    With(Option<Error>),
}

/// What is known of a relayed response.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RelayReport {
    /// The tokens used, if the provider reported them.
    pub usage: Option<Usage>,
    /// The cost, if it is known.
    pub cost: Option<Cost>,
    /// Whether the response is complete.
    pub is_complete: bool,
    /// The error that ended the response.
    pub error: Option<Error>,
    /// How many characters of text and arguments were received.
    pub received: usize,
}

impl RelayBody {
    pub(super) fn whole(bytes: Bytes) -> Self {
        let report = RelayReport { is_complete: true, ..RelayReport::default() };
        Self { source: Source::Whole(Some(bytes)), report }
    }

    /// Returns the body of a response. A complete one was read, and kept by the reply if it has no tap.
    pub(super) fn of_reply(mut reply: Box<Reply>, tap: Option<Tap>, stream: bool) -> Self {
        let bytes = match tap {
            Some(tap) if stream => {
                let source = Source::Reply { reply, tap, ends: Ends::Not };
                return Self { source, report: RelayReport::default() };
            }
            Some(tap) => tap.take_all(),
            None => reply.take_body(),
        };
        let mut body = Self::whole(bytes);
        if let Ok(response) = reply.into_response() {
            body.report.complete(&response);
        }
        body
    }

    /// Returns what is known of the response so far.
    pub fn report(&self) -> &RelayReport {
        &self.report
    }

    /// Returns the bytes of a response that is not streamed; `None` for a stream.
    pub fn take_whole(&mut self) -> Option<Bytes> {
        match &mut self.source {
            Source::Whole(bytes) => bytes.take(),
            _ => None,
        }
    }

    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        let Self { source, report } = self;
        match source {
            Source::Ended => Poll::Ready(None),
            Source::Whole(bytes) => match bytes.take().filter(|bytes| !bytes.is_empty()) {
                Some(bytes) => Poll::Ready(Some(Ok(bytes))),
                None => {
                    *source = Source::Ended;
                    Poll::Ready(None)
                }
            },
            Source::Reply { reply, tap, ends } => loop {
                if let Ends::With(error) = ends {
                    let rest = tap.take_all();
                    if !rest.is_empty() {
                        return Poll::Ready(Some(Ok(rest)));
                    }
                    let error = error.take();
                    *source = Source::Ended;
                    return Poll::Ready(error.map(Err));
                }
                // Before more is read, so no more than one piece of the body waits for a caller that is slow.
                if reply.is_decoded()
                    && let Some(bytes) = tap.next()
                {
                    return Poll::Ready(Some(Ok(bytes)));
                }
                match Pin::new(&mut **reply).poll_next(context) {
                    Poll::Ready(Some(Ok(event))) => report.see(&event),
                    Poll::Ready(Some(Err(error))) => {
                        report.error = Some(error.clone());
                        if is_ours(&error) {
                            // What cannot be read is not passed on.
                            while tap.next().is_some() {}
                            let _ = tap.take_all();
                            *ends = Ends::With(Some(error));
                        } else {
                            *ends = Ends::With(None);
                        }
                    }
                    Poll::Ready(None) => *ends = Ends::With(None),
                    Poll::Pending => return Poll::Pending,
                }
            },
        }
    }
}

/// Returns whether an error is about the connection or the bytes, and not one that the provider wrote into its stream.
fn is_ours(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Protocol
            | ErrorKind::TooLarge
            | ErrorKind::IncompleteStream
            | ErrorKind::Timeout
            | ErrorKind::Connection
    )
}

impl RelayReport {
    fn see(&mut self, event: &ChatStreamEvent) {
        match event {
            ChatStreamEvent::ContentDelta { delta, .. } => self.received += delta_len(delta),
            ChatStreamEvent::Usage { usage, cost } => {
                self.usage = Some(usage.clone());
                self.cost.clone_from(cost);
            }
            ChatStreamEvent::MessageDone { response } => self.complete(response),
            _ => {}
        }
    }

    fn complete(&mut self, response: &ChatResponse) {
        self.usage = Some(response.usage.clone()).filter(|usage| !usage.is_empty());
        self.cost.clone_from(&response.cost);
        self.is_complete = true;
    }
}

fn delta_len(delta: &crate::chat::PartDelta) -> usize {
    use crate::chat::PartDelta;
    match delta {
        PartDelta::Text { text } => text.len(),
        PartDelta::Thinking { thinking } => thinking.len(),
        PartDelta::ToolCallArguments { arguments } => arguments.len(),
        _ => 0,
    }
}

impl Stream for RelayBody {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_bytes(context)
    }
}

shown! { RelayBody: self { report: self.report } }
