//! What is known of one request, for the log and the metrics.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentloop::{Cost, Error, ErrorKind, Protocol, Usage};
use http::StatusCode;
use tokio::time::Instant;
use tracing::Span;

use crate::account::{End, Hold, Origin, Pass};
use crate::live::{Live, Ticket};
use crate::store::Outcome;

/// What is known of one request. It is finished when the last byte was sent, or the client disconnected.
#[derive(Debug)]
#[non_exhaustive]
pub struct Record {
    /// The id of the request, which the client gets as `x-request-id`.
    pub id: String,
    /// The name of the client's key.
    pub key: Option<String>,
    /// The team of the key.
    pub team: Option<String>,
    /// The words that the request is marked with.
    pub tags: Vec<String>,
    /// The API of the client.
    pub api: Protocol,
    /// The call: `chat`, `embed`, `count`, `models`.
    pub call: &'static str,
    /// The model as the client named it.
    pub model: String,
    /// The provider that responded.
    pub provider: Option<String>,
    /// The model that responded, as `provider/model`.
    pub served: Option<String>,
    /// Whether the response was passed on as it is.
    pub is_relayed: bool,
    /// Whether the response is a stream.
    pub is_stream: bool,
    /// What the cache of the route did: `hit`, `miss` (the provider was called) or `wait` (an equal request was in progress).
    pub cache: Option<&'static str>,
    /// How many calls to providers were made.
    pub attempts: u32,
    /// The status of the response.
    pub status: StatusCode,
    /// The tokens used, if they are known.
    pub usage: Option<Usage>,
    /// The cost, if it is known.
    pub cost: Option<Cost>,
    /// How many bytes of text were generated.
    pub received: usize,
    /// Whether the response is complete.
    pub is_complete: bool,
    /// Whether the client disconnected before the end.
    pub is_cancelled: bool,
    /// Why the request failed.
    pub error: Option<Error>,
    /// When it began.
    pub began: SystemTime,
    /// The time until the first byte of the response.
    pub first_byte: Option<Duration>,
    /// The bytes of the response.
    pub bytes: usize,
    pub(crate) started: Instant,
    recorder: Option<Arc<dyn Recorder>>,
    span: Span,
    /// Gets how the request ended, for those who share its response.
    pub(crate) verdict: Option<Arc<OnceLock<Verdict>>>,
    /// Keeps the request in the list of those in progress.
    ticket: Option<Ticket>,
    /// The place of the request among those of its key. Absent if it is not limited.
    pub(crate) pass: Option<Arc<Pass>>,
    /// The amount that is reserved for the call whose response is passed on.
    pub(crate) hold: Option<Hold>,
    /// How many bytes of text the response counts as, if its bytes are not text.
    pub(crate) counts_as: Option<usize>,
}

/// How a request ended, as far as it matters to others that get the same response.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) provider: Option<String>,
    pub(crate) served: Option<String>,
    pub(crate) is_relayed: bool,
    pub(crate) is_complete: bool,
    pub(crate) error: Option<Error>,
}

/// Gets the record of each request when it ends.
///
/// ```
/// use std::time::Duration;
///
/// use agentloop_gateway::{Record, Recorder};
///
/// /// Prints requests that took long.
/// #[derive(Debug)]
/// struct Slow;
///
/// impl Recorder for Slow {
///     fn record(&self, record: &Record, time: Duration) {
///         if time > Duration::from_secs(60) {
///             println!("{} took {time:?}", record.id);
///         }
///     }
/// }
/// ```
pub trait Recorder: Send + Sync + std::fmt::Debug {
    /// Takes a record. `time` is how long the request took.
    fn record(&self, record: &Record, time: Duration);
}

impl Record {
    pub(crate) fn new(id: String, api: Protocol, recorder: Arc<dyn Recorder>, span: Span) -> Self {
        Self {
            id,
            key: None,
            team: None,
            tags: Vec::new(),
            api,
            call: "",
            model: String::new(),
            provider: None,
            served: None,
            is_relayed: false,
            is_stream: false,
            cache: None,
            attempts: 0,
            status: StatusCode::OK,
            usage: None,
            cost: None,
            received: 0,
            is_complete: false,
            is_cancelled: false,
            error: None,
            began: SystemTime::now(),
            first_byte: None,
            bytes: 0,
            started: Instant::now(),
            recorder: Some(recorder),
            span,
            verdict: None,
            ticket: None,
            pass: None,
            hold: None,
            counts_as: None,
        }
    }

    /// Lists the request among those in progress, now that its model is known.
    pub(crate) fn follow(&mut self, live: &Live) {
        self.ticket = Some(live.begin(self));
    }

    /// Notes bytes that are sent.
    pub(crate) fn saw_bytes(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.first_byte.is_none() {
            let time = self.started.elapsed();
            self.first_byte = Some(time);
            // A complete response ends its request at once.
            if let Some(ticket) = self.ticket.as_ref().filter(|_| self.is_stream) {
                ticket.responds(self.served.as_deref(), time);
            }
        }
        if let Some(ticket) = &self.ticket {
            ticket.saw_bytes(self.bytes);
        }
    }

    /// Returns how the request ended.
    fn judge(&self) -> Verdict {
        Verdict {
            provider: self.provider.clone(),
            served: self.served.clone(),
            is_relayed: self.is_relayed,
            is_complete: self.is_complete && !self.is_cancelled,
            error: self.error.clone(),
        }
    }

    /// Notes what is known of a response that another request got first.
    pub(crate) fn adopt(&mut self, verdict: Verdict) {
        self.provider = verdict.provider;
        self.served = verdict.served;
        self.is_relayed = verdict.is_relayed;
        self.is_complete = verdict.is_complete;
        self.error = verdict.error;
    }

    /// Passes the record on.
    pub(crate) fn finish(mut self) {
        self.pass_on();
    }

    fn pass_on(&mut self) {
        if let Some(place) = self.verdict.take() {
            // It is set once only.
            let _ = place.set(self.judge());
        }
        self.ticket = None;
        if let Some(recorder) = self.recorder.take() {
            self.settle();
            crate::span::close(&self.span, self);
            recorder.record(self, self.started.elapsed());
        }
    }

    /// Ends the call whose response was passed on, and the request.
    fn settle(&mut self) {
        if let Some(hold) = self.hold.take() {
            let outcome = match (self.is_complete, self.is_cancelled) {
                (true, _) => Outcome::Complete,
                (false, true) => Outcome::Cancelled,
                (false, false) => Outcome::Failed,
            };
            let cost = hold.settle(&End {
                outcome,
                usage: self.usage.as_ref(),
                cost: self.cost.as_ref(),
                // The decoder counts what a stream has; of a complete response all bytes are there.
                received: match self.counts_as {
                    Some(bytes) => bytes,
                    None if self.is_stream => self.received,
                    None => self.bytes,
                },
                first_byte: self.first_byte,
                status: self.status.as_u16(),
            });
            self.cost = cost.or(self.cost.take());
        } else if let Some(pass) = &self.pass
            && matches!(self.cache, Some("hit" | "wait"))
            && self.error.is_none()
        {
            let (provider, served) =
                self.served.as_deref().and_then(|it| it.split_once('/')).unwrap_or_default();
            let origin = Origin {
                request: &self.id,
                api: self.api,
                call: self.call,
                model: &self.model,
                tags: &self.tags,
                provider,
                served,
            };
            pass.add_cached(origin, self.started.elapsed(), self.status.as_u16());
        }
        self.pass = None;
    }

    /// Returns when it began, in milliseconds of Unix time.
    pub fn began_ms(&self) -> u128 {
        self.began.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()
    }
}

/// A request whose client disconnects before there is a response, or whose handling panics, is recorded too.
impl Drop for Record {
    fn drop(&mut self) {
        if self.recorder.is_some() {
            if std::thread::panicking() {
                let message = "the handling of the request panicked";
                self.status = StatusCode::INTERNAL_SERVER_ERROR;
                self.error = Some(Error::new(ErrorKind::Server, message));
            } else {
                self.is_cancelled = true;
            }
            self.pass_on();
        }
    }
}
