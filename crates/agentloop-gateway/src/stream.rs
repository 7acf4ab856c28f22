//! The bodies of responses.

mod source;
mod task;
mod translated;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use agentloop::protocol::serve::StreamFraming;
use bytes::Bytes;
use futures_core::Stream;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};

pub(crate) use source::{Relaying, Source, error_event};
pub(crate) use task::{Spoken, TaskEvents};
pub(crate) use translated::{Translated, now};

use crate::connections::InUse;
use crate::record::Record;
use crate::route::Busy;

/// A comment that keeps a silent stream alive.
const COMMENT: &[u8] = b": keep-alive\n\n";

/// The most bytes of one response that the gateway holds for a client that reads slowly or not at all, besides the event that is being
/// received: what has arrived from the provider, what is decoded, and what waits to be written. Then it reads no more from the provider.
/// [`MAX_EVENT_BYTES`](agentloop::limits::MAX_EVENT_BYTES) bounds that event. The buffers of the operating system's sockets are not counted.
pub const MAX_WAITING_BYTES: usize = 2 << 20;

/// The largest part of a body that is passed to hyper at once. hyper takes a part whole, whatever room it has.
const MAX_FRAME_BYTES: usize = 16 << 10;

/// The body of a response of the gateway.
pub struct GatewayBody {
    inner: Inner,
    /// What is left of a piece that is larger than [`MAX_FRAME_BYTES`].
    rest: Bytes,
    /// Keeps the connection in use until the body has ended.
    in_use: Option<InUse>,
}

enum Inner {
    Whole(Option<Bytes>),
    Stream(Box<Streamed>),
    Pages(Pages),
}

/// Pieces that are made as the client reads them. An error breaks the connection off, so a part is never taken for all of it.
pub(crate) type Pages = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

impl GatewayBody {
    /// Creates a body of bytes that are all there.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::of(Inner::Whole(Some(bytes.into())))
    }

    /// Creates a body of pieces that are made as the client reads them.
    pub(crate) fn pages(pages: Pages) -> Self {
        Self::of(Inner::Pages(pages))
    }

    /// Creates the body of a stream.
    pub(crate) fn stream(streamed: Streamed) -> Self {
        Self::of(Inner::Stream(Box::new(streamed)))
    }

    fn of(inner: Inner) -> Self {
        Self { inner, rest: Bytes::new(), in_use: None }
    }

    /// Returns the body of a request that keeps its connection in use.
    pub(crate) fn held(mut self, in_use: InUse) -> Self {
        self.in_use = Some(in_use);
        self
    }

    /// Takes the bytes out; `None` if it is a stream.
    pub(crate) fn take_whole(&mut self) -> Option<Bytes> {
        match &mut self.inner {
            Inner::Whole(bytes) => Some(bytes.take().unwrap_or_default()),
            Inner::Stream(_) | Inner::Pages(_) => None,
        }
    }

    /// Leaves out the comments that keep a silent stream alive. Those who read it add their own.
    pub(crate) fn without_keep_alive(mut self) -> Self {
        if let Inner::Stream(streamed) = &mut self.inner {
            streamed.keep_alive = None;
        }
        self
    }

    /// Returns the next bytes of the body: whole events, if it is a stream.
    pub(crate) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match &mut self.inner {
            Inner::Whole(bytes) => Poll::Ready(bytes.take().filter(|bytes| !bytes.is_empty())),
            Inner::Stream(streamed) => streamed.poll(context),
            // An export is read by its client only.
            Inner::Pages(_) => Poll::Ready(None),
        }
    }
}

agentloop::shown! { GatewayBody: self { } }

/// A stream on its way to the client.
pub(crate) struct Streamed {
    source: Option<Box<dyn Source>>,
    framing: StreamFraming,
    /// Whether an element was written, if the stream is an array.
    has_element: bool,
    keep_alive: Option<(Duration, Pin<Box<Sleep>>)>,
    /// How long the response is still read after the client has disconnected.
    drain: Duration,
    record: Option<Record>,
    _busy: Option<Busy>,
    ended: bool,
}

impl Streamed {
    pub(crate) fn new(
        source: Box<dyn Source>,
        framing: StreamFraming,
        keep_alive: Option<Duration>,
        drain: Duration,
        record: Record,
        busy: Busy,
    ) -> Self {
        let mut streamed = Self::shared(source, framing, keep_alive, Some(record));
        streamed.drain = drain;
        streamed._busy = Some(busy);
        streamed
    }

    /// Sends a response that the call of another request, or an earlier one, made. `record` is that of this request, if it has one
    /// of its own.
    pub(crate) fn shared(
        source: Box<dyn Source>,
        framing: StreamFraming,
        keep_alive: Option<Duration>,
        record: Option<Record>,
    ) -> Self {
        let keep_alive = keep_alive.map(|every| (every, Box::pin(tokio::time::sleep(every))));
        Self {
            source: Some(source),
            framing,
            has_element: false,
            keep_alive,
            drain: Duration::ZERO,
            record,
            _busy: None,
            ended: false,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let Some(source) = &mut self.source else { return Poll::Ready(None) };
        let bytes = match source.poll_bytes(context) {
            Poll::Ready(Some(Ok(bytes))) => bytes,
            Poll::Ready(Some(Err(error))) => {
                // The client learns of the error by its API's own event, never by a broken connection.
                let shown = crate::call::for_client(&error);
                let bytes = source.write_error(&shown);
                self.finish(Some(error));
                let framed = self.frame(&bytes);
                return Poll::Ready(Some(self.close(framed)));
            }
            Poll::Ready(None) => {
                self.finish(None);
                let last = self.close(Bytes::new());
                return Poll::Ready(Some(last).filter(|last| !last.is_empty()));
            }
            Poll::Pending => return self.poll_keep_alive(context),
        };
        if let Some(record) = &mut self.record {
            record.saw_bytes(bytes.len());
        }
        if let Some((every, timer)) = &mut self.keep_alive {
            timer.as_mut().reset(Instant::now() + *every);
        }
        Poll::Ready(Some(self.frame(&bytes)))
    }

    fn poll_keep_alive(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some((every, timer)) = &mut self.keep_alive else { return Poll::Pending };
        if timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        timer.as_mut().reset(Instant::now() + *every);
        // Polled again, so that the timer wakes this task.
        let _ = timer.as_mut().poll(context);
        Poll::Ready(Some(match self.framing {
            StreamFraming::Array => Bytes::from_static(b"\n"),
            _ => Bytes::from_static(COMMENT),
        }))
    }

    /// Turns events into elements of an array, if the client wants one.
    fn frame(&mut self, bytes: &Bytes) -> Bytes {
        if self.framing != StreamFraming::Array
            || self.source.as_ref().is_some_and(|it| it.is_raw())
        {
            return bytes.clone();
        }
        let mut framed = Vec::with_capacity(bytes.len());
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Some(data) = line.strip_prefix(b"data: ") {
                framed.extend_from_slice(if self.has_element { b",\r\n" } else { b"[" });
                framed.extend_from_slice(data);
                self.has_element = true;
            }
        }
        framed.into()
    }

    /// Ends the array, if the client wants one.
    fn close(&self, bytes: Bytes) -> Bytes {
        if self.framing != StreamFraming::Array
            || self.source.as_ref().is_some_and(|it| it.is_raw())
        {
            return bytes;
        }
        let open: &[u8] = if self.has_element { b"" } else { b"[" };
        [&bytes, open, b"]"].concat().into()
    }

    fn finish(&mut self, error: Option<agentloop::Error>) {
        self.ended = true;
        if let (Some(mut record), Some(source)) = (self.record.take(), &mut self.source) {
            source.report(&mut record);
            if error.is_some() {
                record.error = error;
            }
            record.finish();
        }
    }
}

impl Drop for Streamed {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let (Some(mut record), Some(mut source)) = (self.record.take(), self.source.take()) else {
            return;
        };
        record.is_cancelled = true;
        let drain = self.drain;
        let runtime = tokio::runtime::Handle::try_current();
        let (false, Ok(runtime)) = (drain.is_zero(), runtime) else {
            source.report(&mut record);
            record.finish();
            return;
        };
        runtime.spawn(async move {
            let reading = async {
                while let Some(Ok(_)) =
                    std::future::poll_fn(|context| source.poll_bytes(context)).await
                {
                }
            };
            // What has arrived by then is billed.
            let _ = tokio::time::timeout(drain, reading).await;
            source.report(&mut record);
            record.finish();
        });
    }
}

impl Body for GatewayBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(in_use) = &mut self.in_use {
            in_use.ask();
        }
        if self.rest.is_empty() {
            let piece = match &mut self.inner {
                Inner::Pages(pages) => ready!(pages.as_mut().poll_next(context)),
                _ => ready!(self.poll_piece(context)).map(Ok),
            };
            match piece {
                Some(Ok(bytes)) => self.rest = bytes,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        if let Some(in_use) = &mut self.in_use {
            in_use.pass_on();
        }
        let length = self.rest.len().min(MAX_FRAME_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        let is_last = match &self.inner {
            Inner::Whole(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            Inner::Stream(streamed) => streamed.ended,
            Inner::Pages(_) => false,
        };
        is_last && self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len) + self.rest.len();
                SizeHint::with_exact(length as u64)
            }
            Inner::Stream(_) | Inner::Pages(_) => SizeHint::default(),
        }
    }
}
