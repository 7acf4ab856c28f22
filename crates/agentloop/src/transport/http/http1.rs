//! HTTP/1.1: one request at a time on a connection, which the future of the response drives.
//!
//! hyper usually runs a connection as a task of its own. Here the future that waits for the head, and then the body, own the connection and
//! poll it. So nothing outlives the call, and dropping either closes the socket, which is how HTTP/1.1 cancels a request.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::whole::Whole;
use ::http::{Request, Response};
use bytes::Bytes;
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;

use super::exchange::{Fate, NoResponse};
use super::fault;
use super::gate::Gate;
use super::io::Io;
use super::origin::Origin;
use super::pool::Host;
use super::wire::Wire;
use crate::error::Result;

/// How many further pieces a dropped body reads to find its end.
const DRAINED_PIECES: usize = 4;

/// A future of the head of a response.
pub(super) trait Head: Future<Output = hyper::Result<Response<Incoming>>> + Send {}

impl<F: Future<Output = hyper::Result<Response<Incoming>>> + Send> Head for F {}

/// A connection and the handle that sends requests on it.
pub(super) struct Http1(Box<Pair>);

struct Pair {
    sender: SendRequest<Whole>,
    connection: Connection<TokioIo<Io>, Whole>,
    gate: Gate,
}

impl Http1 {
    /// Starts HTTP/1.1 over `io`.
    pub(super) async fn new(origin: &Origin, io: Io) -> Result<Self> {
        match http1::handshake(TokioIo::new(io)).await {
            Ok((sender, connection)) => {
                Ok(Self(Box::new(Pair { sender, connection, gate: Gate::new() })))
            }
            Err(error) => Err(fault::broken(origin, "setting up HTTP/1.1", error)),
        }
    }

    /// Sends a request. The response arrives only while the connection is driven, as [`receive_head`](Self::receive_head) does.
    pub(super) fn request(&mut self, request: Request<Whole>) -> impl Head + use<> {
        let Pair { sender, gate, .. } = &mut *self.0;
        // The connection is polled next, so it need not wake the task for the request.
        gate.mute(|| sender.send_request(request)).0
    }

    /// Waits for the head of the response. `head` is pinned, because the future of an `async fn` holds its arguments twice.
    ///
    /// The connection first reads what the server did while it was idle. If the server closed it, nothing is sent.
    pub(super) async fn receive_head(
        self,
        host: &Arc<Host>,
        mut head: Pin<&mut impl Head>,
    ) -> Result<Response<Wire>, NoResponse> {
        let mut open = Some(self);
        let result = poll_fn(|context| {
            let Some(Self(pair)) = &mut open else { return head.as_mut().poll(context) };
            let Pair { connection, gate, .. } = &mut **pair;
            // An error of the connection is also the error of the head. Through the gate, because it may read a part of
            // the body as well, and the reader of the body mutes the gate.
            if Pin::new(connection).poll(&mut gate.context(context)).is_ready() {
                // A request that it has not taken fails only when the connection is dropped.
                open = None;
                return head.as_mut().poll(context);
            }
            // Only the connection completes the head, and this task drives it: a wake would poll the task once more for nothing.
            head.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        })
        .await;
        match result {
            Ok(response) => Ok(response.map(|incoming| {
                Wire::Http1(Http1Body {
                    incoming,
                    connection: open,
                    host: host.clone(),
                    is_pending: false,
                })
            })),
            Err(error) => {
                let closed = error.is_incomplete_message()
                    || error.is_canceled()
                    || error.is_closed()
                    || is_io(&error);
                let fate = match closed {
                    true if error.is_canceled() => Fate::Unsent,
                    true => Fate::Closed,
                    false => Fate::Failed,
                };
                let error = if error.is_parse() && !error.is_incomplete_message() {
                    fault::not_http(host.origin(), error)
                } else {
                    fault::broken(host.origin(), "waiting for the response", error)
                };
                Err(NoResponse { error, fate })
            }
        }
    }
}

fn is_io(error: &hyper::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<std::io::Error>())
}

/// The body of a response. At its end the connection returns to the pool.
pub(super) struct Http1Body {
    incoming: Incoming,
    /// `None` after it ended or returned to the pool.
    connection: Option<Http1>,
    host: Arc<Host>,
    /// Whether the body was empty when it was polled last.
    is_pending: bool,
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
                    // Trailers are ignored. No provider sends any that matter.
                    if let Ok(bytes) = frame.into_data() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Some(Err(error)) => {
                    self.connection = None;
                    let error = fault::broken(self.origin(), "reading the response", error);
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
        let Some(Http1(pair)) = &mut self.connection else {
            return Pin::new(&mut self.incoming).poll_frame(context);
        };
        let Pair { connection, gate, .. } = &mut **pair;
        // Only the connection fills the body, and this task drives it: the body need not wake anything.
        let mut unwoken = Context::from_waker(Waker::noop());
        // A body that was pending is still empty. One that is not asks the connection for more, which then is polled.
        if !std::mem::take(&mut self.is_pending) {
            let (frame, _) = gate.mute(|| Pin::new(&mut self.incoming).poll_frame(&mut unwoken));
            if frame.is_ready() {
                return frame;
            }
        }
        if Pin::new(connection).poll(&mut gate.context(context)).is_ready() {
            // Nothing more can arrive without it: the body ends now, complete or not.
            self.connection = None;
            return Pin::new(&mut self.incoming).poll_frame(context);
        }
        // Taking a frame asks the connection for more; the next poll drives it.
        let (frame, missed) = gate.mute(|| Pin::new(&mut self.incoming).poll_frame(&mut unwoken));
        self.is_pending = frame.is_pending();
        if self.is_pending && missed {
            context.waker().wake_by_ref();
        }
        frame
    }

    /// Returns the connection to the pool if it can be used again.
    fn give_back(&mut self, context: &mut Context<'_>) {
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        let pair = &mut *connection.0;
        // It is ready already if the end of the body arrived with the rest, which is how most complete responses arrive.
        if pair.sender.is_ready()
            || (Pin::new(&mut pair.connection).poll(context).is_pending() && pair.sender.is_ready())
        {
            self.host.put_http1(connection);
        }
    }
}

impl Drop for Http1Body {
    /// Reads up to the end of the body if it is there already, so that the connection can be reused. A reader of a stream stops at the provider's
    /// last event, and the end of the body has mostly been received by then.
    fn drop(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..DRAINED_PIECES {
            if self.connection.is_none()
                || !matches!(self.poll_bytes(&mut context), Poll::Ready(Some(Ok(_))))
            {
                break;
            }
        }
    }
}
