//! Reads an answer: bytes in, events out.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use tokio::time::{Instant, Sleep};

use super::hidden::Hidden;
use crate::chat::{ChatResponse, ChatStreamEvent};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Guess, Guesser, JsonArrayReader, SseReader};
use crate::limits::{MAX_BODY_BYTES, MAX_BYTES_WITHOUT_EVENT};
use crate::pace::Pace;
use crate::protocol::{ChatDecoder, Emitter, Flow, Frame};
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
    Unknown(BytesMut, Guesser),
}

/// How many bytes of a stream are read in one step. A piece that is larger is read in several.
const STEP: usize = 64 << 10;

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
            Self::Unknown(BytesMut::new(), Guesser::default())
        } else {
            // Also a login page or a proxy's own: no stream of ours looks like that.
            Self::Whole(Pieces::default())
        }
    }
}

/// An answer while it is read.
pub(crate) struct Reply {
    body: Body,
    /// What is left of the last piece of the body.
    rest: Bytes,
    pace: Pace,
    /// How many bytes have been read since the last event.
    silent: usize,
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
            rest: Bytes::new(),
            pace: Pace::new(),
            silent: 0,
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
        self.total = timeouts.total.and_then(|total| {
            // A limit past the end of the clock is none.
            let end = began.checked_add(total)?;
            Some((total, Box::pin(tokio::time::sleep_until(end))))
        });
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

    /// Reads the next bytes. What comes of them is in the emitter, or in the state.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let step = match self.poll_bytes(context) {
            Poll::Ready(Some(Ok(bytes))) => {
                self.last_life = Instant::now();
                // The timer itself is only polled when there is nothing to read.
                match &self.total {
                    Some((limit, timer)) if self.last_life >= timer.deadline() => {
                        Err(late("the whole answer", *limit))
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
            self.state = State::Failed(Some(self.hidden.hide(error)));
        }
        Poll::Ready(())
    }

    /// Returns what is left of the last piece, then the next one. Control returns to the runtime after a bounded number of bytes.
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
                return self.count_silent(bytes.len());
            };
            bytes = std::mem::take(begin).freeze();
            self.reading = match guess {
                Guess::Events => Reading::Stream(SseReader::new()),
                Guess::List if self.decoder.streams_lists() => {
                    Reading::List(JsonArrayReader::new())
                }
                Guess::List | Guess::Whole => Reading::Whole(Pieces::default()),
            };
        }
        let Self { reading, decoder, emitter, .. } = self;
        if let Reading::Whole(body) = reading {
            if body.bytes().len() + bytes.len() > MAX_BODY_BYTES {
                return Err(Error::new(
                    ErrorKind::TooLarge,
                    format!("the response is larger than {MAX_BODY_BYTES} bytes"),
                ));
            }
            body.push(bytes);
            return Ok(());
        }
        if bytes.len() > STEP {
            self.rest = bytes.split_off(STEP);
        }
        let before = emitter.progress();
        let mut take = |frame: Frame<'_>| decoder.frame(&frame, emitter);
        let flow = match reading {
            Reading::Stream(reader) => reader.feed(&bytes, &mut take)?,
            Reading::List(reader) => reader.feed(&bytes, &mut take)?,
            // These were dealt with above.
            Reading::Whole(_) | Reading::Unknown(..) => Flow::Continue,
        };
        if flow == Flow::Done {
            self.state = State::Ended;
        }
        if self.emitter.progress() != before {
            self.silent = 0;
            return Ok(());
        }
        self.count_silent(bytes.len())
    }

    /// Counts bytes that led to no event.
    fn count_silent(&mut self, bytes: usize) -> Result<()> {
        self.silent = self.silent.saturating_add(bytes);
        if self.silent <= MAX_BYTES_WITHOUT_EVENT {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::TooLarge,
            format!("the stream has more than {MAX_BYTES_WITHOUT_EVENT} bytes without an event"),
        ))
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
            Reading::Unknown(body, _) => whole(body, decoder, emitter),
            Reading::Whole(body) => whole(body.bytes(), decoder, emitter),
        };
        // A body that is an error fails the call, whatever precedes the error in it: the caller has seen nothing.
        if done.is_err() && matches!(reading, Reading::Unknown(..) | Reading::Whole(_)) {
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
        let Some(due) = self.last_life.checked_add(limit) else {
            return Poll::Pending;
        };
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
