//! Speech and transcripts on their way to the client.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use agentloop::protocol::serve::{write_error, write_task_event};
use agentloop::{Error, Protocol, TaskEvent, TaskResponse, TaskStream};
use bytes::Bytes;
use futures_core::Stream;

use super::now;
use super::source::Source;
use crate::record::Record;
use crate::route::Busy;

/// Notes what the last event reports.
fn report(response: &TaskResponse, record: &mut Record) {
    record.usage = response.usage().cloned();
    record.cost = response.cost().cloned();
    record.is_complete = true;
}

/// Events that are written as server-sent events.
pub(crate) struct TaskEvents {
    events: TaskStream,
    protocol: Protocol,
    response: Option<Box<TaskResponse>>,
    /// The bytes of text.
    received: usize,
}

impl TaskEvents {
    pub(crate) fn new(events: TaskStream, protocol: Protocol) -> Self {
        Self { events, protocol, response: None, received: 0 }
    }
}

impl Source for TaskEvents {
    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let event = match ready!(Pin::new(&mut self.events).poll_next(context)) {
            Some(Ok(event)) => event,
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            None => return Poll::Ready(None),
        };
        let bytes = write_task_event(&event, u64::try_from(now()).unwrap_or_default());
        match event {
            TaskEvent::Done { response } => self.response = Some(response),
            TaskEvent::Text { text } => self.received += text.len(),
            _ => {}
        }
        Poll::Ready(Some(Ok(bytes)))
    }

    fn write_error(&mut self, error: &Error) -> Bytes {
        [b"data: ", &*write_error(self.protocol, error), b"\n\n"].concat().into()
    }

    fn report(&mut self, record: &mut Record) {
        record.received = self.received;
        if let Some(response) = &self.response {
            report(response, record);
        }
    }
}

/// Audio that the client reads as one body. If it is cut off, the connection is closed early: a body of audio has no place for an error.
pub(crate) struct Spoken {
    events: TaskStream,
    record: Option<Record>,
    _busy: Busy,
}

impl Spoken {
    pub(crate) fn new(events: TaskStream, record: Record, busy: Busy) -> Self {
        Self { events, record: Some(record), _busy: busy }
    }

    fn finish(&mut self, end: impl FnOnce(&mut Record)) {
        if let Some(mut record) = self.record.take() {
            end(&mut record);
            record.finish();
        }
    }
}

impl Stream for Spoken {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let event = match ready!(Pin::new(&mut self.events).poll_next(context)) {
                Some(Ok(event)) => event,
                Some(Err(error)) => {
                    let shown = io::Error::other(error.to_string());
                    self.finish(|record| record.error = Some(error));
                    return Poll::Ready(Some(Err(shown)));
                }
                None => return Poll::Ready(None),
            };
            match event {
                TaskEvent::Audio { data } => {
                    if let Some(record) = &mut self.record {
                        record.saw_bytes(data.len());
                    }
                    return Poll::Ready(Some(Ok(data)));
                }
                TaskEvent::Done { response } => self.finish(|record| report(&response, record)),
                _ => {}
            }
        }
    }
}

impl Drop for Spoken {
    fn drop(&mut self) {
        self.finish(|record| record.is_cancelled = true);
    }
}
