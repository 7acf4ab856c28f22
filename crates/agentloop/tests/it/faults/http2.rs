//! HTTP/2: what the server does to a stream, or to the whole connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentloop::transport::HttpTransport;
use agentloop::{ErrorKind, Protocol};
use agentloop_sim::{Piece, Simulator};
use bytes::{Bytes, BytesMut};
use futures_util::future::join_all;
use h2::server::{Connection, SendResponse};
use h2::{Reason, RecvStream};
use http::{Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::server::TlsStream;

use crate::faults::calls::{Call, client};
use crate::faults::leaks::leaving_nothing;
use crate::faults::server::middle;
use crate::faults::table::Fate::{self, Again, Fails, Well};
use crate::faults::tls::Trust;
use crate::support::patience::PATIENCE;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// The stream is reset: before the response, after its head, or in its body.
    Reset(Place),
    /// The server reports that it has not processed the request.
    Refused,
    /// No further stream is accepted; this one continues.
    GoAway,
    /// The connection is gone.
    Gone(Place),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Before,
    Head,
    Body,
}

use Fault::{GoAway, Gone, Refused, Reset};
use Place::{Before, Body, Head};

/// The expected results of complete responses and of streams.
const LINES: [(Fault, Fate, Fate); 8] = [
    (Reset(Before), Again(ErrorKind::Connection), Again(ErrorKind::Connection)),
    (Reset(Head), Again(ErrorKind::Connection), Again(ErrorKind::Connection)),
    (Reset(Body), Again(ErrorKind::Connection), Fails(ErrorKind::Connection)),
    (Refused, Well, Well),
    (GoAway, Well, Well),
    (Gone(Before), Again(ErrorKind::Connection), Again(ErrorKind::Connection)),
    (Gone(Head), Again(ErrorKind::Connection), Again(ErrorKind::Connection)),
    (Gone(Body), Again(ErrorKind::Connection), Fails(ErrorKind::Connection)),
];

#[test]
fn every_fault_of_http2_has_its_kind_and_is_retried_before_the_first_content() {
    leaving_nothing(async || {
        let (mut wrong, trust) = (Vec::new(), Arc::new(Trust::new(&["h2"])));
        let transport = trust.transport();
        for line in LINES {
            let all = Call::everywhere()
                .map(|(call, protocol)| check(line, call, protocol, &trust, &transport));
            wrong.extend(join_all(all).await.into_iter().flatten());
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    });
}

async fn check(
    (fault, whole, streamed): (Fault, Fate, Fate),
    call: Call,
    protocol: Protocol,
    trust: &Arc<Trust>,
    transport: &HttpTransport,
) -> Option<String> {
    let fate = match (fault, call.is_streamed()) {
        // The connection was used before: it may just have been too old, and the request goes out again by itself.
        (Gone(Before), _) if call.before() > 0 => Well,
        (_, true) => streamed,
        (_, false) => whole,
    };
    for retries in [0, 2] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/v1", listener.local_addr().unwrap());
        let plan = Plan { protocol, fault, at: call.before(), requests: Arc::default() };
        let serving = tokio::spawn(serve(listener, Arc::clone(trust), plan.clone()));
        let ai = client(protocol, &url, transport.clone(), PATIENCE, retries);
        let seen = call.make(&ai).await.err().map(|error| (error.kind(), error.is_retryable()));
        let wanted = match fate {
            Well => None,
            Again(_) if retries > 0 => None,
            Again(kind) => Some((kind, true)),
            Fails(kind) => Some((kind, false)),
        };
        serving.abort();
        let tries = plan.requests.load(Ordering::SeqCst) - call.before();
        if seen != wanted || tries > 2 {
            let place = format!("{fault:?}, {call:?} in {protocol:?}, {retries} retries");
            return Some(format!("{place}: {seen:?} after {tries}, not {wanted:?}"));
        }
    }
    None
}

#[derive(Clone)]
struct Plan {
    protocol: Protocol,
    fault: Fault,
    /// Which request goes wrong, counted from 0.
    at: usize,
    requests: Arc<AtomicUsize>,
}

async fn serve(listener: TcpListener, trust: Arc<Trust>, plan: Plan) {
    // They end with the server.
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        // The client may go away at any time.
        if let Ok(stream) = trust.accept(stream).await {
            connections.spawn(connection(stream, plan.clone()));
        }
    }
}

async fn connection(stream: TlsStream<TcpStream>, plan: Plan) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        let faulty = plan.requests.fetch_add(1, Ordering::SeqCst) == plan.at;
        let fault = faulty.then_some(plan.fault);
        if fault == Some(Gone(Before)) {
            return;
        }
        if fault == Some(GoAway) {
            connection.graceful_shutdown();
        }
        let answered = answer(&mut connection, request, respond, plan.protocol, fault);
        if answered.await.is_none() || matches!(fault, Some(Gone(_))) {
            return;
        }
    }
}

/// Responds while the connection is open; `None` when the client has closed it.
async fn answer(
    connection: &mut Connection<TlsStream<TcpStream>, Bytes>,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    protocol: Protocol,
    fault: Option<Fault>,
) -> Option<()> {
    let (head, mut body) = request.into_parts();
    let mut asked = BytesMut::new();
    loop {
        let data = tokio::select! {
            data = body.data() => data,
            // Nothing else comes while this request is read: there is one at a time.
            _ = std::future::poll_fn(|context| connection.poll_closed(context)) => return None,
        };
        let Some(data) = data else { break };
        let data = data.ok()?;
        body.flow_control().release_capacity(data.len()).ok()?;
        asked.extend_from_slice(&data);
    }
    let reply = Simulator::new().respond(protocol, &Request::from_parts(head, asked.freeze()))?;
    let mut whole = Vec::new();
    for piece in reply.body {
        if let Piece::Bytes(bytes) = piece {
            whole.extend_from_slice(&bytes);
        }
    }
    match fault {
        Some(Refused) => respond.send_reset(Reason::REFUSED_STREAM),
        Some(Reset(Before)) => respond.send_reset(Reason::INTERNAL_ERROR),
        _ => {
            let mut response = Response::new(());
            *response.headers_mut() = reply.headers;
            response.headers_mut().remove("content-length");
            let mut stream = respond.send_response(response, false).ok()?;
            let (place, resets) = match fault {
                Some(Reset(place)) => (Some(place), true),
                Some(Gone(place)) => (Some(place), false),
                _ => (None, false),
            };
            match place {
                Some(Body) => {
                    let part = Bytes::copy_from_slice(&whole[..middle(&whole)]);
                    stream.send_data(part, false).ok()?;
                }
                Some(_) => {}
                None => stream.send_data(whole.into(), true).ok()?,
            }
            if place.is_some() {
                flush(connection).await;
            }
            if resets {
                stream.send_reset(Reason::INTERNAL_ERROR);
            }
        }
    }
    flush(connection).await;
    Some(())
}

/// Flushes what was sent.
async fn flush(connection: &mut Connection<TlsStream<TcpStream>, Bytes>) {
    for _ in 0..50 {
        let closed = std::future::poll_fn(|context| connection.poll_closed(context));
        let wait = std::time::Duration::from_micros(200);
        if tokio::time::timeout(wait, closed).await.is_ok() {
            return;
        }
    }
}
