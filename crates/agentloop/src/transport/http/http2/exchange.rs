//! One request and its response on an HTTP/2 connection.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::http::{Request, Response};
use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use tokio::sync::OwnedMutexGuard;

use super::super::exchange::{Fate, NoResponse};
use super::super::fault;
use super::super::origin::Origin;
use super::super::pool::Host;
use super::Lease;
use crate::error::Result;

/// A request under way. Dropping it resets the stream.
struct Exchange {
    handles: Option<(ResponseFuture, SendStream<Bytes>)>,
    lease: Option<Lease>,
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(lease) = &self.lease {
            let handles = self.handles.take();
            lease.driver().apply_in_drop(lease.slot, || drop(handles));
        }
    }
}

impl Lease {
    /// Sends `request` and waits for the head of the response.
    ///
    /// `dialing` keeps other requests from making connections of their own until it is known how many streams this one allows.
    pub(in super::super) fn send<'h>(
        self,
        host: &'h Arc<Host>,
        request: Request<()>,
        body: Bytes,
        dialing: Option<OwnedMutexGuard<()>>,
    ) -> impl Future<Output = Result<Response<Http2Body>, NoResponse>> + Send + use<'h> {
        let is_empty = body.is_empty();
        let mut sender = self.connection.sender.clone();
        // Not in the future, which would hold the head of the request. The sender is dropped at once, because it would keep the stream
        // alive when the request is dropped.
        let sent = self.driver().apply(move || sender.send_request(request, is_empty));
        let exchange = sent.map(|handles| Exchange { handles: Some(handles), lease: Some(self) });
        receive_head(host, exchange, body, dialing)
    }
}

async fn receive_head(
    host: &Arc<Host>,
    exchange: Result<Exchange, h2::Error>,
    mut body: Bytes,
    mut dialing: Option<OwnedMutexGuard<()>>,
) -> Result<Response<Http2Body>, NoResponse> {
    let mut exchange = exchange.map_err(|error| no_response(host.origin(), error))?;
    let head = poll_fn(|context| {
        let (Some(lease), Some((response, stream))) = (&exchange.lease, &mut exchange.handles)
        else {
            return Poll::Pending;
        };
        let polled = lease.driver().poll_stream(lease.slot, context, |context| {
            send_body(stream, &mut body, context);
            Pin::new(&mut *response).poll(context)
        });
        if dialing.is_some() && lease.connection.knows_settings() {
            dialing = None;
        }
        polled
    })
    .await;
    let response = head.map_err(|error| no_response(host.origin(), error))?;
    let (lease, handles) = (exchange.lease.take(), exchange.handles.take());
    Ok(response.map(|received| Http2Body {
        host: host.clone(),
        // A response may come before all of the request was sent. Then the rest of it stays unsent, and the stream open.
        open: lease
            .zip(handles)
            .map(|(lease, (_, stream))| Open { handles: Some((received, stream)), lease }),
    }))
}

/// Sends as much of the body as the server accepts now.
fn send_body(stream: &mut SendStream<Bytes>, body: &mut Bytes, context: &mut Context<'_>) {
    while !body.is_empty() {
        stream.reserve_capacity(body.len());
        let room = match stream.capacity() {
            0 => match stream.poll_capacity(context) {
                Poll::Ready(Some(Ok(room))) => room,
                // The response reports why the stream accepts no more.
                Poll::Ready(Some(Err(_)) | None) => return body.clear(),
                Poll::Pending => return,
            },
            room => room,
        };
        let piece = body.split_to(room.min(body.len()));
        if !piece.is_empty() && stream.send_data(piece, body.is_empty()).is_err() {
            return body.clear();
        }
    }
}

fn no_response(origin: &Origin, error: h2::Error) -> NoResponse {
    let fate = match error.reason() {
        Some(Reason::REFUSED_STREAM) if error.is_remote() => Fate::Unread,
        Some(Reason::NO_ERROR) if error.is_go_away() && error.is_remote() => Fate::Unread,
        _ if error.is_io() => Fate::Closed,
        _ => Fate::Failed,
    };
    NoResponse { error: fault::broken(origin, "waiting for the response", error), fate }
}

/// The body of a response. Dropping it before its end resets the stream.
pub(in super::super) struct Http2Body {
    host: Arc<Host>,
    /// `None` after the end.
    open: Option<Open>,
}

struct Open {
    handles: Option<(RecvStream, SendStream<Bytes>)>,
    lease: Lease,
}

impl Http2Body {
    pub(in super::super) fn origin(&self) -> &Origin {
        self.host.origin()
    }

    pub(in super::super) fn poll_bytes(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes>>> {
        let Some(Open { handles: Some((received, _)), lease }) = &mut self.open else {
            return Poll::Ready(None);
        };
        let driver = lease.driver();
        let data =
            ready!(driver.poll_stream(lease.slot, context, |context| received.poll_data(context)));
        let error = match data {
            Some(Ok(bytes)) => {
                // The caller has them now, so the server may send as many more. This fails only for a stream that has ended, which
                // the next poll reports.
                let flow = received.flow_control();
                let _ = driver.apply(|| flow.release_capacity(bytes.len()));
                return Poll::Ready(Some(Ok(bytes)));
            }
            Some(Err(error)) => Some(error),
            None => None,
        };
        self.open = None;
        match error {
            // This is how a server ends a request of which it does not need the rest.
            Some(error) if error.reason() == Some(Reason::NO_ERROR) && !error.is_go_away() => {
                Poll::Ready(None)
            }
            Some(error) => {
                let error = fault::broken(self.origin(), "reading the response", error);
                Poll::Ready(Some(Err(error)))
            }
            None => Poll::Ready(None),
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let handles = self.handles.take();
        self.lease.driver().apply_in_drop(self.lease.slot, || drop(handles));
    }
}
