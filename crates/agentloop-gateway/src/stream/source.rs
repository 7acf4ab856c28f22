//! Where the bytes of a stream come from.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use agentloop::protocol::serve::StreamWriter;
use agentloop::relay::RelayBody;
use agentloop::{ChatStreamEvent, Error, ErrorRecord, Protocol};
use bytes::{Bytes, BytesMut};
use futures_core::Stream;

use crate::record::Record;

/// The bytes of a stream in the format of the caller's API. Each piece has whole events.
pub(crate) trait Source: Send {
    /// Returns the next events, or the error that ends the stream.
    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>>;

    /// Writes the event that reports an error.
    fn write_error(&mut self, error: &Error) -> Bytes;

    /// Notes what is known of the response.
    fn report(&mut self, record: &mut Record);

    /// Returns whether the bytes are framed as the client wants them already.
    fn is_raw(&self) -> bool {
        false
    }
}

/// A response that is passed on as it is.
pub(crate) struct Relaying {
    body: RelayBody,
    protocol: Protocol,
    /// Whether the usage is left out, because the client did not ask for it.
    hides_usage: bool,
}

impl Relaying {
    pub(crate) fn new(body: RelayBody, protocol: Protocol, hides_usage: bool) -> Self {
        Self { body, protocol, hides_usage }
    }
}

impl Source for Relaying {
    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        loop {
            let piece = ready!(Pin::new(&mut self.body).poll_next(context));
            let Some(Ok(bytes)) = piece else { return Poll::Ready(piece) };
            let bytes = if self.hides_usage { without_usage(bytes) } else { bytes };
            if !bytes.is_empty() {
                return Poll::Ready(Some(Ok(bytes)));
            }
        }
    }

    fn write_error(&mut self, error: &Error) -> Bytes {
        StreamWriter::new(self.protocol, false).write(&error_event(error))
    }

    fn report(&mut self, record: &mut Record) {
        let report = self.body.report();
        record.usage.clone_from(&report.usage);
        record.cost.clone_from(&report.cost);
        record.is_complete = report.is_complete;
        record.received = report.received;
        record.error.clone_from(&report.error);
    }

    fn is_raw(&self) -> bool {
        true
    }
}

pub(crate) fn error_event(error: &Error) -> ChatStreamEvent {
    ChatStreamEvent::Error { error: Box::new(ErrorRecord::from(error)) }
}

/// Removes the events of a chat stream that report only the usage.
fn without_usage(bytes: Bytes) -> Bytes {
    if memchr::memmem::find(&bytes, b"\"usage\"").is_none() {
        return bytes;
    }
    let mut kept = BytesMut::with_capacity(bytes.len());
    let mut start = 0;
    while start < bytes.len() {
        let end =
            memchr::memmem::find(&bytes[start..], b"\n\n").map_or(bytes.len(), |at| start + at + 2);
        let event = &bytes[start..end];
        if !is_only_usage(event) {
            kept.extend_from_slice(event);
        }
        start = end;
    }
    if kept.len() == bytes.len() { bytes } else { kept.freeze() }
}

fn is_only_usage(event: &[u8]) -> bool {
    let Some(data) = event.trim_ascii().strip_prefix(b"data:") else { return false };
    let Ok(chunk) = serde_json::from_slice::<serde_json::Value>(data) else { return false };
    let has_choices =
        chunk.get("choices").and_then(|list| list.as_array()).is_some_and(|list| !list.is_empty());
    !has_choices && chunk.get("usage").is_some_and(serde_json::Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_chunk_with_the_usage_is_left_out() {
        let one = "data: {\"choices\":[{\"delta\":{}}],\"usage\":null}\n\n";
        let usage = "data: {\"choices\":[],\"usage\":{\"total_tokens\":3}}\n\n";
        let done = "data: [DONE]\n\n";
        let all = Bytes::from([one, usage, done].concat());
        assert_eq!(without_usage(all), [one, done].concat());
        assert_eq!(without_usage(Bytes::from(usage)), "");
        let text = "data: {\"choices\":[{\"delta\":{\"content\":\"the \\\"usage\\\"\"}}]}\n\n";
        assert_eq!(without_usage(Bytes::from(text)), text);
    }
}
