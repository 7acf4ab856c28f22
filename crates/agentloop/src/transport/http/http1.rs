//! HTTP/1.1: one request at a time on a connection, which is driven by whoever waits for the answer.
//!
//! hyper wants its connection to run as a task of its own. Here it lives inside the future that waits for the
//! head and then inside the body, and is polled by them: nothing outlives the call, and dropping either closes
//! the socket, which is how HTTP/1.1 cancels.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use ::http::{Request, Response};
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;

use super::exchange::{Fate, Unanswered};
use super::fault;
use super::io::Io;
use super::origin::Origin;
use super::pool::Host;
use crate::error::Result;

/// How many pieces a dropped body looks at to see whether it was at its end.
const LAST_LOOK: usize = 4;

/// The head of an answer, to come.
pub(super) trait Answer: Future<Output = hyper::Result<Response<Incoming>>> + Send {}

impl<F: Future<Output = hyper::Result<Response<Incoming>>> + Send> Answer for F {}

/// A connection, and the way to put a request on it.
pub(super) struct Http1(Box<Pair>);

struct Pair {
    sender: SendRequest<Full<Bytes>>,
    connection: Connection<TokioIo<Io>, Full<Bytes>>,
}

impl Http1 {
    /// Speaks HTTP/1.1 over `io`.
    pub(super) async fn new(origin: &Origin, io: Io) -> Result<Self> {
        match http1::handshake(TokioIo::new(io)).await {
            Ok((sender, connection)) => Ok(Self(Box::new(Pair { sender, connection }))),
            Err(error) => Err(fault::broken(origin, "setting up HTTP/1.1", error)),
        }
    }

    /// Whether a request can be put on it. Sees what the server did meanwhile, such as closing it.
    pub(super) fn is_usable(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let pair = &mut *self.0;
        Pin::new(&mut pair.connection).poll(&mut context).is_pending() && pair.sender.is_ready()
    }

    /// Puts a request on it. Its answer comes only while the connection is driven, as [`answered`](Self::answered) does.
    pub(super) fn request(&mut self, request: Request<Full<Bytes>>) -> impl Answer + use<> {
        self.0.sender.send_request(request)
    }

    /// Waits for the head of the answer. Given in its place, since what an `async fn` is given it holds twice.
    pub(super) async fn answered(
        mut self,
        host: &Arc<Host>,
        mut answer: Pin<&mut impl Answer>,
    ) -> Result<Response<Http1Body>, Unanswered> {
        let pair = &mut *self.0;
        let mut ended = false;
        let result = poll_fn(|context| {
            if !ended {
                // Its error, if any, comes out of the answer.
                ended = Pin::new(&mut pair.connection).poll(context).is_ready();
            }
            answer.as_mut().poll(context)
        })
        .await;
        match result {
            Ok(response) => Ok(response.map(|incoming| Http1Body {
                incoming,
                connection: (!ended).then_some(self),
                host: host.clone(),
            })),
            Err(error) => {
                let closed = error.is_incomplete_message()
                    || error.is_canceled()
                    || error.is_closed()
                    || is_io(&error);
                let fate = if closed { Fate::Closed } else { Fate::Failed };
                let error = if error.is_parse() && !error.is_incomplete_message() {
                    fault::not_http(host.origin(), error)
                } else {
                    fault::broken(host.origin(), "waiting for the answer", error)
                };
                Err(Unanswered { error, fate })
            }
        }
    }
}

fn is_io(error: &hyper::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<std::io::Error>())
}

/// The body of an answer. At its end, the connection goes back to the pool.
pub(super) struct Http1Body {
    incoming: Incoming,
    /// `None` once it ended or went back.
    connection: Option<Http1>,
    host: Arc<Host>,
}

impl Http1Body {
    pub(super) fn origin(&self) -> &Origin {
        self.host.origin()
    }

    pub(super) fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        loop {
            let frame = match self.poll_frame(context) {
                Poll::Ready(frame) => frame,
                Poll::Pending => return Poll::Pending,
            };
            match frame {
                Some(Ok(frame)) => {
                    // Trailers are not handed on: no provider sends any that matter.
                    if let Ok(bytes) = frame.into_data() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Some(Err(error)) => {
                    self.connection = None;
                    let error = fault::broken(self.origin(), "reading the answer", error);
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    self.give_back(context);
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<http_body::Frame<Bytes>>>> {
        let frame = Pin::new(&mut self.incoming).poll_frame(context);
        if frame.is_ready() {
            return frame;
        }
        let Some(Http1(pair)) = &mut self.connection else {
            return frame;
        };
        if Pin::new(&mut pair.connection).poll(context).is_ready() {
            // Without it nothing can be waited for: the body now ends, well or badly.
            self.connection = None;
        }
        Pin::new(&mut self.incoming).poll_frame(context)
    }

    /// Puts the connection back if it can carry another request.
    fn give_back(&mut self, context: &mut Context<'_>) {
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        let pair = &mut *connection.0;
        if Pin::new(&mut pair.connection).poll(context).is_pending() && pair.sender.is_ready() {
            self.host.put_http1(connection);
        }
    }
}

impl Drop for Http1Body {
    /// A reader of a stream stops at the provider's last event, most often with the end of the body read from
    /// the socket already. The connection is then as good as at its end.
    fn drop(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..LAST_LOOK {
            if self.connection.is_none()
                || !matches!(self.poll_bytes(&mut context), Poll::Ready(Some(Ok(_))))
            {
                break;
            }
        }
    }
}
