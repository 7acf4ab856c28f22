//! Recording.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{Error, ErrorKind, Result};
use bytes::Bytes;
use futures_core::Stream;
use http::{Request, Response};
use serde_json::Value;

use super::file::{self, Exchange, Failure, Piece, Received, Sent};
use super::mask::Secrets;
use super::{MAX_BODY_BYTES, MAX_EXCHANGES, Recording, frames};

impl Recording {
    /// Sends a request, and records it when its response has ended.
    pub(super) async fn record_exchange(
        &self,
        network: &dyn Transport,
        request: Request<Bytes>,
        options: SendOptions,
    ) -> Result<Response<Body>> {
        let secrets = self.remember(Secrets::of(request.headers(), request.uri()));
        let sent = sent(&request, &secrets);
        // The requests are in the order in which they are sent, also if a later one is completed first.
        let index = self.begin(sent)?;
        match network.send(request, options).await {
            Ok(response) => {
                let received = Received {
                    status: response.status().as_u16(),
                    headers: secrets.response_headers(response.headers()),
                    body: Vec::new(),
                };
                let (head, body) = response.into_parts();
                let recording = self.clone();
                let (received, pieces) = (Some(received), Vec::new());
                let tape = Tape { recording, index, body, secrets, received, pieces, length: 0 };
                Ok(Response::from_parts(head, Body::stream(tape)))
            }
            Err(error) => {
                self.complete(index, None, Some(failure(&error, &secrets)))?;
                Err(error)
            }
        }
    }

    /// Adds the secrets of a request, and returns all that are known.
    fn remember(&self, secrets: Secrets) -> Secrets {
        let mut state = self.lock();
        state.secrets.extend(secrets);
        state.secrets.clone()
    }

    fn begin(&self, request: Sent) -> Result<usize> {
        let mut state = self.lock();
        if state.exchanges.len() >= MAX_EXCHANGES {
            let message = format!("a recording has at most {MAX_EXCHANGES} requests");
            return Err(Error::new(ErrorKind::Config, message));
        }
        // A request whose response is not read to its end is replayed as a connection that breaks.
        let message = "the response was not read to its end when it was recorded".to_owned();
        let failure = Some(Failure { kind: ErrorKind::Connection, message });
        state.exchanges.push(Exchange { request, response: None, failure });
        Ok(state.forgotten + state.exchanges.len() - 1)
    }

    fn complete(
        &self,
        index: usize,
        response: Option<Received>,
        failure: Option<Failure>,
    ) -> Result<()> {
        let mut state = self.lock();
        let index = index.checked_sub(state.forgotten);
        if let Some(exchange) = index.and_then(|index| state.exchanges.get_mut(index)) {
            exchange.response = response;
            exchange.failure = failure;
        }
        self.0.path.as_ref().map_or(Ok(()), |path| file::write(path, &state.exchanges))
    }
}

fn sent(request: &Request<Bytes>, secrets: &Secrets) -> Sent {
    let json = serde_json::from_slice(request.body()).ok().map(|json| secrets.hide_in(json));
    // In the file it is nested deeper, and the file must be read again.
    let json = json.filter(|json| !is_deep(json, MAX_DEPTH));
    let body = if json.is_none() && !request.body().is_empty() {
        Some(piece(request.body(), secrets))
    } else {
        None
    };
    Sent {
        method: request.method().to_string(),
        url: secrets.url(request.uri()),
        headers: secrets.request_headers(request.headers()),
        json,
        body,
    }
}

/// The deepest JSON that is written as such. Deeper JSON is written as text.
const MAX_DEPTH: usize = 110;

fn is_deep(json: &Value, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return true };
    match json {
        Value::Array(items) => items.iter().any(|item| is_deep(item, left)),
        Value::Object(fields) => fields.values().any(|value| is_deep(value, left)),
        _ => false,
    }
}

/// Returns bytes without the secrets. Binary ones keep their length, and frames get their checksum again, so they can be replayed.
pub(super) fn piece(bytes: &[u8], secrets: &Secrets) -> Piece {
    match Piece::of(bytes) {
        Piece::Text(text) => Piece::Text(secrets.hide(&text)),
        binary if !secrets.are_in(bytes) => binary,
        Piece::Binary { .. } => {
            let mut bytes = bytes.to_vec();
            for frame in frames::split(&bytes).unwrap_or_default() {
                let Some(frame) = bytes.get_mut(frame) else { continue };
                if secrets.overwrite(frame) {
                    frames::seal(frame);
                }
            }
            // What is left is in a frame that was cut off, or not in frames.
            secrets.overwrite(&mut bytes);
            Piece::of(&bytes)
        }
    }
}

fn failure(error: &Error, secrets: &Secrets) -> Failure {
    Failure { kind: error.kind(), message: secrets.hide(&error.to_string()) }
}

/// A body that is recorded while it is read.
struct Tape {
    recording: Recording,
    index: usize,
    body: Body,
    secrets: Secrets,
    /// Absent once the response is recorded.
    received: Option<Received>,
    /// What has arrived, in its pieces.
    pieces: Vec<Bytes>,
    length: usize,
}

impl Tape {
    fn end(&mut self, failure: Option<Failure>) -> Result<()> {
        let Some(mut received) = self.received.take() else { return Ok(()) };
        received.body = self.recorded_pieces();
        self.recording.complete(self.index, Some(received), failure)
    }

    /// Returns the pieces without secrets. A secret can be split between two of them, and a frame with one too: then they become one.
    fn recorded_pieces(&self) -> Vec<Piece> {
        let pieces = &self.pieces;
        let is_text = pieces.iter().all(|bytes| std::str::from_utf8(bytes).is_ok());
        let hidden: Vec<Piece> = pieces.iter().map(|bytes| piece(bytes, &self.secrets)).collect();
        let shown = if is_text {
            hidden.iter().filter_map(Piece::bytes).collect::<Vec<_>>().concat()
        } else {
            pieces.concat()
        };
        if self.secrets.are_in(&shown) {
            vec![piece(&pieces.concat(), &self.secrets)]
        } else {
            hidden
        }
    }
}

impl Stream for Tape {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(Pin::new(&mut self.body).poll_next(context));
        let this = &mut *self;
        match next {
            Some(Ok(bytes)) => {
                this.length = this.length.saturating_add(bytes.len());
                if this.length > MAX_BODY_BYTES {
                    (this.received, this.pieces) = (None, Vec::new());
                    let message = format!(
                        "a response of more than {MAX_BODY_BYTES} bytes cannot be recorded"
                    );
                    return Poll::Ready(Some(Err(Error::new(ErrorKind::TooLarge, message))));
                }
                if this.received.is_some() {
                    this.pieces.push(bytes.clone());
                }
                Poll::Ready(Some(Ok(bytes)))
            }
            Some(Err(error)) => {
                let failed = this.end(Some(failure(&error, &this.secrets))).err();
                Poll::Ready(Some(Err(failed.unwrap_or(error))))
            }
            None => Poll::Ready(this.end(None).err().map(Err)),
        }
    }
}

impl Drop for Tape {
    /// The reader had enough: the end marker of a stream, or what it wanted to know. What it read is replayed, and then the body ends.
    fn drop(&mut self) {
        // The error cannot be returned from here. The next request writes the file again.
        let _ = self.end(None);
    }
}
