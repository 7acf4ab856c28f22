//! Replaying.

use std::collections::VecDeque;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use agentloop::transport::Body;
use agentloop::{Error, ErrorKind, Result};
use bytes::Bytes;
use futures_core::Stream;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use serde_json::Value;

use super::file::{Exchange, Failure, Piece, Received, Sent};
use super::mask::Secrets;
use super::record::piece;
use super::{RECORD_VARIABLE, Recording, State, difference};

impl Recording {
    /// Returns what was recorded for a request.
    pub(super) fn replay_exchange(&self, request: &Request<Bytes>) -> Result<Response<Body>> {
        let secrets = Secrets::of(request.headers(), request.uri());
        let asked = Asked {
            method: request.method().as_str(),
            url: secrets.url(request.uri()),
            json: serde_json::from_slice(request.body()).ok().map(|json| secrets.hide_in(json)),
            body: piece(request.body(), &secrets).bytes().unwrap_or_default(),
        };
        let mut state = self.lock();
        let found =
            state.exchanges.iter().zip(&state.used).position(|(exchange, used)| {
                !*used && asked.difference(&exchange.request).is_none()
            });
        let Some(index) = found else { return Err(self.refusal(&state, &asked)) };
        if let Some(used) = state.used.get_mut(index) {
            *used = true;
        }
        let exchange = state.exchanges.get(index).cloned();
        drop(state);
        match exchange {
            Some(Exchange { response: Some(received), failure, .. }) => respond(&received, failure),
            Some(Exchange { failure: Some(failure), .. }) => Err(error(&failure)),
            _ => Err(Error::new(ErrorKind::Connection, "there was no response")),
        }
    }

    /// Explains why a request cannot be replayed.
    fn refusal(&self, state: &State, asked: &Asked<'_>) -> Error {
        let path = self.0.path.as_deref().unwrap_or(Path::new("")).display();
        let line = format!("{} {}", asked.method, asked.url);
        let same = |used: bool| {
            let exchanges = state.exchanges.iter().zip(&state.used);
            exchanges.filter(move |(_, it)| **it == used).map(|(exchange, _)| &exchange.request)
        };
        let differs = same(false).find(|sent| sent.line() == line);
        let why = match differs.and_then(|sent| asked.difference(sent)) {
            Some(difference) => difference,
            None if same(true).any(|sent| asked.difference(sent).is_none()) => {
                "it was replayed already as often as it was recorded".to_owned()
            }
            None => "no request to this URL is left in it".to_owned(),
        };
        Error::new(ErrorKind::Config, format!("{line} is not in the recording {path}: {why}"))
            .with_hint(format!(
                "if the new request is right, record again with {RECORD_VARIABLE}=1"
            ))
    }
}

/// A request that is sent.
struct Asked<'a> {
    method: &'a str,
    url: String,
    json: Option<Value>,
    body: Bytes,
}

impl Asked<'_> {
    /// Returns how it differs from a recorded one.
    fn difference(&self, recorded: &Sent) -> Option<String> {
        if self.method != recorded.method || self.url != recorded.url {
            return Some(format!("{} was recorded", recorded.line()));
        }
        match (&recorded.json, &self.json) {
            (Some(recorded), Some(sent)) => difference::first(recorded, sent),
            _ => {
                let bytes = recorded.body.as_ref().map_or(Some(Bytes::new()), Piece::bytes);
                let is_same =
                    bytes.is_some_and(|bytes| bytes == self.body) && recorded.json.is_none();
                (!is_same).then(|| "the body is another one than was recorded".to_owned())
            }
        }
    }
}

fn respond(received: &Received, failure: Option<Failure>) -> Result<Response<Body>> {
    let invalid = || Error::new(ErrorKind::Config, "the recording has an invalid status or header");
    let mut headers = HeaderMap::new();
    for (name, value) in &received.headers {
        let name: HeaderName = name.parse().map_err(|_| invalid())?;
        headers.append(name, HeaderValue::from_str(value).map_err(|_| invalid())?);
    }
    let pieces: VecDeque<Bytes> = received.body.iter().filter_map(Piece::bytes).collect();
    let mut response = Response::new(Body::stream(Pieces { pieces, failure }));
    *response.status_mut() = StatusCode::from_u16(received.status).map_err(|_| invalid())?;
    *response.headers_mut() = headers;
    Ok(response)
}

fn error(failure: &Failure) -> Error {
    Error::new(failure.kind, failure.message.clone())
}

/// The body of a recorded response.
struct Pieces {
    pieces: VecDeque<Bytes>,
    failure: Option<Failure>,
}

impl Stream for Pieces {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(match self.pieces.pop_front() {
            Some(bytes) => Some(Ok(bytes)),
            None => self.failure.take().map(|failure| Err(error(&failure))),
        })
    }
}
