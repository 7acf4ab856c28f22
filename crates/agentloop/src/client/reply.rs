//! Reads a response: bytes in, events out.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use tokio::time::{Instant, Sleep};

use super::limit::timed_out;
use super::secrets::RequestSecrets;
use crate::chat::{ChatResponse, ChatStreamEvent};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{EventStreamReader, Guess, Guesser, JsonArrayReader, LineReader, SseReader};
use crate::limits::{MAX_BODY_BYTES, MAX_BYTES_WITHOUT_EVENT};
use crate::long_work::LongWork;
use crate::pace::Pace;
use crate::protocol::{ChatDecoder, Emitter, Flow, Frame};
use crate::stream::ended_early;
use crate::timeouts::Timeouts;
use crate::transport::Body;

/// How the bytes of a response are read.
#[derive(Debug)]
pub(crate) enum Reading {
    /// As server-sent events.
    Stream(SseReader),
    /// As a JSON array whose elements are events.
    List(JsonArrayReader),
    /// As lines, each of which is an event.
    Lines(LineReader),
    /// As binary frames.
    Frames(EventStreamReader),
    /// As one JSON value.
    Whole(Pieces),
    /// As the first bytes suggest.
    Unknown(BytesMut, Guesser),
}

/// How many bytes of a stream are decoded in one step. A larger piece is decoded in several.
const STEP: usize = 64 << 10;

/// The bytes of a body. Most bodies arrive in one piece, which is not copied.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    first: Bytes,
    all: BytesMut,
}

impl Pieces {
    fn push(&mut self, bytes: Bytes) {
        if self.all.is_empty() {
            if self.first.is_empty() {
                self.first = bytes;
                return;
            }
            // A body that arrives in pieces probably has more of them.
            self.all.reserve(2 * (self.first.len() + bytes.len()));
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&bytes);
    }

    fn bytes(&self) -> &[u8] {
        if self.all.is_empty() { &self.first } else { &self.all }
    }

    #[cfg(feature = "serve")]
    fn into_bytes(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
    }
}

impl Reading {
    /// Chooses by the content type of the response. A provider may stream although it was not requested, or send a
    /// complete response to a streaming request.
    pub(crate) fn of(content_type: &str, stream: bool) -> Self {
        let content_type = content_type.as_bytes();
        // A name, and after it nothing but parameters.
        let is = |name: &[u8]| {
            let parts = content_type.trim_ascii_start().split_at_checked(name.len());
            parts.is_some_and(|(start, rest)| {
                let rest = rest.trim_ascii_start();
                (rest.is_empty() || rest.starts_with(b";")) && start.eq_ignore_ascii_case(name)
            })
        };
        if is(b"text/event-stream") {
            Self::Stream(SseReader::new())
        } else if is(b"application/vnd.amazon.eventstream") {
            Self::Frames(EventStreamReader::new())
        } else if stream && !is(b"text/html") {
            Self::Unknown(BytesMut::new(), Guesser::default())
        } else {
            // Includes HTML, for example a login page or the error page of a proxy: no stream looks like that.
            Self::Whole(Pieces::default())
        }
    }
}

/// A response while it is read.
pub(crate) struct Reply {
    body: Body,
    /// The rest of the last piece of the body.
    rest: Bytes,
    pace: Pace,
    /// How many bytes have been read since the last event.
    bytes_without_event: usize,
    reading: Reading,
    decoder: ChatDecoder,
    emitter: Box<Emitter>,
    state: State,
    model: Option<String>,
    /// The secrets that errors must not show.
    secrets: RequestSecrets,
    /// Whether content has been returned to the caller. From then on the call cannot be retried.
    has_returned_content: bool,
    idle: Option<Duration>,
    idle_timer: Option<Pin<Box<Sleep>>>,
    /// Since when it waits for the next bytes. A body that has already arrived does not need the time.
    waits_since: Option<Instant>,
    total: Option<(Duration, Pin<Box<Sleep>>)>,
    long_work: LongWork,
}

#[derive(Debug)]
enum State {
    Reading,
    /// The decoder has seen the end. The queued events are the last ones.
    Ended,
    /// Reading failed. The error follows the queued events.
    Failed(Option<Error>),
}

impl Reply {
    pub(crate) fn new(
        body: Body,
        reading: Reading,
        decoder: ChatDecoder,
        emitter: Box<Emitter>,
    ) -> Self {
        Self {
            body,
            rest: Bytes::new(),
            pace: Pace::new(),
            bytes_without_event: 0,
            reading,
            decoder,
            emitter,
            state: State::Reading,
            model: None,
            secrets: RequestSecrets::default(),
            has_returned_content: false,
            idle: None,
            idle_timer: None,
            waits_since: None,
            total: None,
            long_work: LongWork::default(),
        }
    }

    #[inline]
    pub(crate) fn with_long_work(mut self: Box<Self>, long_work: LongWork) -> Box<Self> {
        self.long_work = long_work;
        self
    }

    #[inline]
    pub(crate) fn with_model(mut self: Box<Self>, model: Option<&str>) -> Box<Self> {
        self.model = model.map(str::to_owned);
        self
    }

    /// Sets the secrets that errors must not show.
    #[inline]
    pub(crate) fn with_secrets(mut self: Box<Self>, secrets: RequestSecrets) -> Box<Self> {
        self.secrets = secrets;
        self
    }

    #[inline]
    pub(crate) fn with_timeouts(
        mut self: Box<Self>,
        timeouts: &Timeouts,
        began: Instant,
    ) -> Box<Self> {
        self.idle = timeouts.idle;
        self.total = timeouts.total.and_then(|total| {
            // A limit beyond the range of the clock never ends.
            let end = began.checked_add(total)?;
            Some((total, Box::pin(tokio::time::sleep_until(end))))
        });
        self
    }

    /// Reads up to the first content event, or to the end with `all`. An error before that fails the call. The events
    /// stay queued.
    pub(crate) async fn read_ahead(&mut self, all: bool) -> Result<()> {
        let mut seen = 0;
        std::future::poll_fn(|context| {
            loop {
                let mut new = self.emitter.events().iter().skip(seen);
                let enough = new.any(|event| {
                    matches!(event, ChatStreamEvent::MessageDone { .. })
                        || (event.is_content() && !all)
                });
                if enough {
                    return Poll::Ready(Ok(()));
                }
                seen = self.emitter.events().len();
                match &mut self.state {
                    State::Reading => ready!(self.poll_more(context)),
                    State::Ended => return Poll::Ready(Ok(())),
                    State::Failed(error) => return Poll::Ready(error.take().map_or(Ok(()), Err)),
                }
            }
        })
        .await
    }

    /// Returns the queued events.
    pub(crate) fn into_events(self: Box<Self>) -> Vec<ChatStreamEvent> {
        self.emitter.into_events()
    }

    /// Takes the bytes of a body that was read as one JSON value; empty for any other.
    #[cfg(feature = "serve")]
    pub(crate) fn take_body(&mut self) -> Bytes {
        match &mut self.reading {
            Reading::Whole(body) => std::mem::take(body).into_bytes(),
            _ => Bytes::new(),
        }
    }

    /// Returns whether everything that was read is decoded, without an error, and its events were returned.
    #[cfg(feature = "serve")]
    pub(crate) fn is_decoded(&self) -> bool {
        let has_failed = matches!(self.state, State::Failed(_));
        self.rest.is_empty() && self.emitter.events().is_empty() && !has_failed
    }

    /// Returns the complete response, after [`read_ahead`](Self::read_ahead) has read all of it.
    pub(crate) fn into_response(self: Box<Self>) -> Result<ChatResponse> {
        self.emitter.into_response(ended_early)
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<ChatStreamEvent>>> {
        loop {
            if let Some(event) = self.emitter.pop() {
                return Poll::Ready(Some(Ok(event)));
            }
            match &mut self.state {
                State::Reading => ready!(self.poll_more(context)),
                State::Ended => return Poll::Ready(None),
                State::Failed(error) => return Poll::Ready(error.take().map(Err)),
            }
        }
    }

    /// Reads the next bytes. The result is in the emitter or in the state.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let step = match self.poll_bytes(context) {
            Poll::Ready(Some(Ok(bytes))) => {
                self.waits_since = None;
                // The timer itself is only polled when there is nothing to read.
                match &self.total {
                    Some((limit, timer)) if Instant::now() >= timer.deadline() => {
                        Err(timed_out("the complete response", *limit))
                    }
                    _ => self.bytes(bytes),
                }
            }
            Poll::Ready(Some(Err(error))) => Err(error),
            Poll::Ready(None) => self.end_of_body(),
            Poll::Pending => Err(ready!(self.poll_timers(context))),
        };
        if let Err(error) = step {
            let mut error = error.with_provider(self.emitter.provider());
            if let Some(model) = &self.model {
                error = error.with_model(model);
            }
            error = error.with_began(true);
            self.decoder.settle(&mut self.emitter);
            if let Some(partial) = self.emitter.partial() {
                error = error.with_partial(partial);
            }
            self.state = State::Failed(Some(self.secrets.hide(error)));
        }
        Poll::Ready(())
    }

    /// Returns the rest of the last piece, then the next piece. Returns control to the runtime after a bounded number
    /// of bytes.
    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        if self.rest.is_empty() {
            let piece = ready!(Pin::new(&mut self.body).poll_next(context));
            if let Some(Ok(bytes)) = &piece {
                self.emitter.record(bytes);
            }
            return Poll::Ready(piece);
        }
        ready!(self.pace.poll_work(context));
        let rest = std::mem::take(&mut self.rest);
        self.pace.charge(rest.len().min(STEP));
        Poll::Ready(Some(Ok(rest)))
    }

    fn bytes(&mut self, mut bytes: Bytes) -> Result<()> {
        if let Reading::Unknown(begin, guesser) = &mut self.reading {
            begin.extend_from_slice(&bytes);
            let Some(guess) = guesser.guess(begin) else {
                return self.count_bytes_without_event(bytes.len());
            };
            bytes = std::mem::take(begin).freeze();
            self.reading = match guess {
                Guess::Events => Reading::Stream(SseReader::new()),
                Guess::Frames => Reading::Frames(EventStreamReader::new()),
                Guess::List if self.decoder.streams_lists() => {
                    Reading::List(JsonArrayReader::new())
                }
                Guess::Line if self.decoder.streams_lines() => Reading::Lines(LineReader::new()),
                Guess::List | Guess::Whole | Guess::Line => Reading::Whole(Pieces::default()),
            };
        }
        let Self { reading, decoder, emitter, long_work, .. } = self;
        if let Reading::Whole(body) = reading {
            let length = body.bytes().len() + bytes.len();
            if length > MAX_BODY_BYTES {
                return Err(Error::new(
                    ErrorKind::TooLarge,
                    format!("the response is larger than {MAX_BODY_BYTES} bytes"),
                ));
            }
            emitter.keep_body(length)?;
            body.push(bytes);
            return Ok(());
        }
        if bytes.len() > STEP {
            self.rest = bytes.split_off(STEP);
        }
        let before = emitter.progress();
        let mut take = |frame: Frame<'_>| {
            long_work.for_bytes(frame.data.len()).run(|| decoder.frame(&frame, emitter))
        };
        let flow = match reading {
            Reading::Stream(reader) => reader.feed(&bytes, &mut take)?,
            Reading::List(reader) => reader.feed(&bytes, &mut take)?,
            Reading::Lines(reader) => reader.feed(&bytes, &mut take)?,
            Reading::Frames(reader) => reader.feed(&bytes, &mut take)?,
            // Both are handled above.
            Reading::Whole(_) | Reading::Unknown(..) => Flow::Continue,
        };
        if flow == Flow::Done {
            self.state = State::Ended;
        }
        if self.emitter.progress() != before {
            self.bytes_without_event = 0;
            return Ok(());
        }
        self.count_bytes_without_event(bytes.len())
    }

    /// Counts bytes that produced no event.
    fn count_bytes_without_event(&mut self, bytes: usize) -> Result<()> {
        self.bytes_without_event = self.bytes_without_event.saturating_add(bytes);
        if self.bytes_without_event <= MAX_BYTES_WITHOUT_EVENT {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::TooLarge,
            format!("the stream has more than {MAX_BYTES_WITHOUT_EVENT} bytes without an event"),
        ))
    }

    fn end_of_body(&mut self) -> Result<()> {
        let Self { reading, decoder, emitter, state, long_work, .. } = self;
        let done = match reading {
            Reading::Stream(reader) => {
                let flow = reader.finish(&mut |frame| decoder.frame(&frame, emitter));
                end_of_frames(flow, decoder, emitter)
            }
            Reading::Lines(reader) => {
                let flow = reader.finish(&mut |frame| decoder.frame(&frame, emitter));
                end_of_frames(flow, decoder, emitter)
            }
            Reading::List(reader) => reader.finish().and_then(|()| decoder.finish(emitter)),
            Reading::Frames(reader) => reader.finish().and_then(|()| decoder.finish(emitter)),
            Reading::Unknown(body, _) => {
                long_work.for_bytes(body.len()).run(|| decode_body(body, decoder, emitter))
            }
            Reading::Whole(body) => {
                let body = body.bytes();
                long_work.for_bytes(body.len()).run(|| decode_body(body, decoder, emitter))
            }
        };
        // A body that is an error fails the call, even if content precedes the error: the caller has not seen it.
        if done.is_err() && matches!(reading, Reading::Unknown(..) | Reading::Whole(_)) {
            emitter.discard_events();
        }
        done?;
        *state = State::Ended;
        Ok(())
    }

    /// Returns the error if a time limit has passed. The idle timer is reset only when it expires, not at every piece.
    fn poll_timers(&mut self, context: &mut Context<'_>) -> Poll<Error> {
        if let Some((limit, timer)) = &mut self.total
            && timer.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(timed_out("the complete response", *limit));
        }
        let Some(limit) = self.idle else {
            return Poll::Pending;
        };
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        let Some(due) = since.checked_add(limit) else {
            return Poll::Pending;
        };
        let timer = self.idle_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        while timer.as_mut().poll(context).is_ready() {
            if Instant::now() >= due {
                return Poll::Ready(timed_out("the next part of the response", limit));
            }
            timer.as_mut().reset(due);
        }
        Poll::Pending
    }
}

/// Ends a stream after its last frame, which ended with the body.
fn end_of_frames(
    last: Result<Flow>,
    decoder: &mut ChatDecoder,
    emitter: &mut Emitter,
) -> Result<()> {
    match last {
        Ok(Flow::Done) => Ok(()),
        Ok(Flow::Continue) => decoder.finish(emitter),
        // A last event that is incomplete and cannot be parsed was cut off.
        Err(error) if error.kind() == ErrorKind::Protocol => Err(Error::new(
            ErrorKind::IncompleteStream,
            "the stream ended in the middle of an event",
        )
        .with_source(error)),
        Err(error) => Err(error),
    }
}

fn decode_body(body: &[u8], decoder: &mut ChatDecoder, emitter: &mut Emitter) -> Result<()> {
    if body.trim_ascii().is_empty() {
        return Err(Error::new(ErrorKind::IncompleteStream, "the response is empty"));
    }
    decoder.body(body, emitter)
}

impl Stream for Reply {
    type Item = Result<ChatStreamEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.poll_event(context) {
            Poll::Ready(Some(Ok(event))) => {
                self.has_returned_content |= event.is_content();
                Poll::Ready(Some(Ok(event)))
            }
            // An error is not retryable once the caller has seen content.
            Poll::Ready(Some(Err(error))) if self.has_returned_content => {
                Poll::Ready(Some(Err(error.with_retryable(false))))
            }
            item => item,
        }
    }
}
