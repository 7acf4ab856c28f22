//! Reads an answer: bytes in, events out.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use tokio::time::{Instant, Sleep};

use super::hidden::Hidden;
use crate::error::{Error, ErrorKind, Result};
use crate::event::ChatStreamEvent;
use crate::framing::{JsonArrayReader, SseReader, looks_whole};
use crate::limits::MAX_BODY_BYTES;
use crate::protocol::{ChatDecoder, Emitter, Flow};
use crate::response::ChatResponse;
use crate::stream::ended_early;
use crate::timeouts::Timeouts;
use crate::transport::Body;

/// How the bytes of an answer are read.
#[derive(Debug)]
pub(crate) enum Reading {
    /// As server-sent events.
    Stream(SseReader),
    /// As a list whose elements are events.
    List(JsonArrayReader),
    /// As one JSON body.
    Whole(Pieces),
    /// As whatever the first bytes look like.
    Unknown(BytesMut),
}

/// The bytes of one body. Most come in one piece, which is then not copied.
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
            // A body in pieces is likely to have more of them.
            self.all.reserve(2 * (self.first.len() + bytes.len()));
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&bytes);
    }

    fn bytes(&self) -> &[u8] {
        if self.all.is_empty() { &self.first } else { &self.all }
    }
}

impl Reading {
    /// From what the answer says it is: a host may stream unasked, or answer whole when asked to stream.
    pub(crate) fn of(content_type: &str, stream: bool) -> Self {
        let kind = content_type.split(';').next().unwrap_or_default().trim_ascii();
        if kind.eq_ignore_ascii_case("text/event-stream") {
            Self::Stream(SseReader::new())
        } else if stream && !kind.eq_ignore_ascii_case("text/html") {
            Self::Unknown(BytesMut::new())
        } else {
            // Also a login page or a proxy's own: no stream of ours looks like that.
            Self::Whole(Pieces::default())
        }
    }
}

/// An answer while it is read.
pub(crate) struct Reply {
    body: Body,
    reading: Reading,
    decoder: ChatDecoder,
    emitter: Box<Emitter>,
    state: State,
    model: Option<String>,
    /// What no error shows.
    hidden: Hidden,
    /// Whether content has been handed on: from then on the call cannot be repeated unseen.
    handed_on: bool,
    idle: Option<Duration>,
    idle_timer: Option<Pin<Box<Sleep>>>,
    last_life: Instant,
    total: Option<(Duration, Pin<Box<Sleep>>)>,
}

#[derive(Debug)]
enum State {
    Reading,
    /// The decoder has seen the end; what is queued is all there is.
    Ended,
    /// It failed; the error follows what is queued.
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
            reading,
            decoder,
            emitter,
            state: State::Reading,
            model: None,
            hidden: Hidden::default(),
            handed_on: false,
            idle: None,
            idle_timer: None,
            last_life: Instant::now(),
            total: None,
        }
    }

    pub(crate) fn with_model(mut self: Box<Self>, model: Option<&str>) -> Box<Self> {
        self.model = model.map(str::to_owned);
        self
    }

    /// The same, whose errors do not show what the request showed to the provider.
    pub(crate) fn hiding(mut self: Box<Self>, hidden: Hidden) -> Box<Self> {
        self.hidden = hidden;
        self
    }

    pub(crate) fn with_timeouts(
        mut self: Box<Self>,
        timeouts: &Timeouts,
        began: Instant,
    ) -> Box<Self> {
        self.idle = timeouts.idle;
        self.total =
            timeouts.total.map(|total| (total, Box::pin(tokio::time::sleep_until(began + total))));
        self
    }

    /// Reads until the first content is there, or `all`: what fails before fails the call. The events stay where they are.
    pub(crate) async fn prime(&mut self, all: bool) -> Result<()> {
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

    /// The events that were read ahead.
    pub(crate) fn into_read(self) -> Vec<ChatStreamEvent> {
        self.emitter.into_events()
    }

    /// The answer, which was read ahead as a whole.
    pub(crate) fn into_response(mut self) -> Result<ChatResponse> {
        match self.emitter.pop_last() {
            Some(ChatStreamEvent::MessageDone { response }) => Ok(*response),
            _ => Err(ended_early()),
        }
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

    /// Reads on. What comes of it is with the emitter, or in the state.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let step = match Pin::new(&mut self.body).poll_next(context) {
            Poll::Ready(Some(Ok(bytes))) => {
                self.last_life = Instant::now();
                self.bytes(bytes)
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
            self.state = State::Failed(Some(self.hidden.hide(error)));
        }
        Poll::Ready(())
    }

    fn bytes(&mut self, bytes: Bytes) -> Result<()> {
        let Self { reading, decoder, emitter, state, .. } = self;
        if let Reading::Unknown(begin) = reading {
            begin.extend_from_slice(&bytes);
            let Some(whole) = looks_whole(begin) else {
                return Ok(());
            };
            let begin = std::mem::take(begin);
            *reading = if whole && decoder.streams_lists() && starts_list(&begin) {
                Reading::List(JsonArrayReader::new())
            } else if whole {
                Reading::Whole(Pieces::default())
            } else {
                Reading::Stream(SseReader::new())
            };
            return self.bytes(begin.freeze());
        }
        match reading {
            Reading::Stream(reader) => {
                let flow = reader.feed(&bytes, &mut |frame| decoder.frame(&frame, emitter))?;
                if flow == Flow::Done {
                    *state = State::Ended;
                }
                Ok(())
            }
            Reading::List(reader) => {
                let flow = reader.feed(&bytes, &mut |frame| decoder.frame(&frame, emitter))?;
                if flow == Flow::Done {
                    *state = State::Ended;
                }
                Ok(())
            }
            // The unknown is known above.
            Reading::Unknown(_) => Ok(()),
            Reading::Whole(body) => {
                if body.bytes().len() + bytes.len() > MAX_BODY_BYTES {
                    return Err(Error::new(
                        ErrorKind::TooLarge,
                        format!("the answer is larger than {MAX_BODY_BYTES} bytes"),
                    ));
                }
                body.push(bytes);
                Ok(())
            }
        }
    }

    fn end_of_body(&mut self) -> Result<()> {
        let Self { reading, decoder, emitter, state, .. } = self;
        let done = match reading {
            Reading::Stream(reader) => {
                match reader.finish(&mut |frame| decoder.frame(&frame, emitter)) {
                    Ok(Flow::Done) => Ok(()),
                    Ok(Flow::Continue) => decoder.finish(emitter),
                    // An event without its end that cannot be read was cut off.
                    Err(error) if error.kind() == ErrorKind::Protocol => Err(Error::new(
                        ErrorKind::IncompleteStream,
                        "the stream ended in the middle of an event",
                    )
                    .with_source(error)),
                    Err(error) => Err(error),
                }
            }
            Reading::List(reader) => reader.finish().and_then(|()| decoder.finish(emitter)),
            Reading::Unknown(body) => whole(body, decoder, emitter),
            Reading::Whole(body) => whole(body.bytes(), decoder, emitter),
        };
        // A body that is an error fails the call, whatever precedes the error in it: the caller has seen nothing.
        if done.is_err() && matches!(reading, Reading::Unknown(_) | Reading::Whole(_)) {
            emitter.discard_events();
        }
        done?;
        *state = State::Ended;
        Ok(())
    }

    /// Whether a wait has taken too long. The idle timer is set again only when it has run out, not at every piece.
    fn poll_timers(&mut self, context: &mut Context<'_>) -> Poll<Error> {
        if let Some((limit, timer)) = &mut self.total
            && timer.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(late("the whole answer", *limit));
        }
        let Some(limit) = self.idle else {
            return Poll::Pending;
        };
        let due = self.last_life + limit;
        let timer = self.idle_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        while timer.as_mut().poll(context).is_ready() {
            if Instant::now() >= due {
                return Poll::Ready(late("the next piece of the answer", limit));
            }
            timer.as_mut().reset(due);
        }
        Poll::Pending
    }
}

fn whole(body: &[u8], decoder: &mut ChatDecoder, emitter: &mut Emitter) -> Result<()> {
    if body.trim_ascii().is_empty() {
        return Err(Error::new(ErrorKind::IncompleteStream, "the answer is empty"));
    }
    decoder.body(body, emitter)
}

/// Whether the first bytes begin a list.
fn starts_list(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    bytes.trim_ascii_start().starts_with(b"[")
}

fn late(what: &str, limit: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("{what} did not come within {} s", limit.as_secs_f64()))
}

impl Stream for Reply {
    type Item = Result<ChatStreamEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.poll_event(context) {
            Poll::Ready(Some(Ok(event))) => {
                self.handed_on |= event.is_content();
                Poll::Ready(Some(Ok(event)))
            }
            // What the consumer has seen cannot be repeated unseen.
            Poll::Ready(Some(Err(error))) if self.handed_on => {
                Poll::Ready(Some(Err(error.with_retryable(false))))
            }
            item => item,
        }
    }
}
