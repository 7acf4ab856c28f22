//! Records requests and responses as fixtures, without secrets.
//!
//! - By type: the values of headers that authenticate or identify an account are removed, whatever they are.
//! - By value: the keys that were sent are removed wherever they occur, also in URLs and in bodies that repeat them.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{BoxFuture, Result};
use bytes::Bytes;
use futures_core::Stream;
use http::HeaderMap;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::files;

/// What stands for a secret.
const MASK: &str = "***";

/// The most bytes of a body that are recorded.
const MAX_BODY_BYTES: usize = 8 << 20;

/// The shortest key that is searched for. A shorter one would occur by chance.
const MIN_KEY: usize = 6;

/// Words in the names of headers whose values are secrets, or identify an account or a request.
const SECRET_NAMES: [&str; 12] = [
    "auth",
    "key",
    "token",
    "secret",
    "cookie",
    "session",
    "organization",
    "project",
    "account",
    "request-id",
    "user-id",
    "cf-ray",
];

/// Headers that have such a word and no secret.
const PUBLIC_NAMES: [&str; 2] = ["ratelimit", "www-authenticate"];

/// A request and its response.
#[derive(Debug, Default)]
struct Exchange {
    method: String,
    url: String,
    request_headers: HeaderMap,
    request_body: Vec<u8>,
    status: Option<u16>,
    response_headers: HeaderMap,
    response_body: Vec<u8>,
}

/// The exchanges of a check, and the keys of all checks: a provider can repeat a key in the response to another request.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    exchanges: Vec<Exchange>,
    /// The longest first, because a key may contain another one.
    secrets: Vec<String>,
}

/// Keys are not shown.
impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("exchanges", &self.exchanges.len()).finish_non_exhaustive()
    }
}

/// A transport that keeps what passes through it.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) inner: Arc<dyn Transport>,
    pub(super) to: Recorder,
}

impl Recorder {
    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, at: usize, change: impl FnOnce(&mut Exchange)) {
        self.with(|state| state.exchanges.get_mut(at).map(change));
    }

    fn add(&self, exchange: Exchange) -> usize {
        self.with(|state| {
            state.secrets.extend(exchange.secrets());
            state.secrets.sort_by(|one, other| (other.len(), other).cmp(&(one.len(), one)));
            state.secrets.dedup();
            state.exchanges.push(exchange);
            state.exchanges.len() - 1
        })
    }

    /// Removes the keys that were sent from a text.
    pub(super) fn hide(&self, text: &str) -> String {
        self.with(|state| mask_text(text, &state.secrets))
    }

    /// Forgets the exchanges of a check.
    pub(super) fn clear(&self) {
        self.with(|state| state.exchanges.clear());
    }

    /// Writes the exchanges of a check to folders, and forgets them.
    pub(super) fn write(
        &self,
        folder: &Path,
        about: &About<'_>,
    ) -> std::result::Result<(), Failure> {
        let (exchanges, secrets) =
            self.with(|state| (std::mem::take(&mut state.exchanges), state.secrets.clone()));
        for (number, exchange) in exchanges.iter().enumerate() {
            let name = match number {
                0 => about.check.to_owned(),
                number => format!("{}-{}", about.check, number + 1),
            };
            let case = folder.join(about.provider).join(name);
            exchange.write(&case, about, &secrets).map_err(|error| Failure::file(&case, error))?;
        }
        Ok(())
    }
}

/// What a fixture is about.
#[derive(Debug)]
pub(super) struct About<'a> {
    pub(super) check: &'a str,
    pub(super) provider: &'a str,
    pub(super) model: &'a str,
    pub(super) protocol: &'a str,
}

impl Exchange {
    fn write(&self, case: &Path, about: &About<'_>, secrets: &[String]) -> std::io::Result<()> {
        files::create_folder(case)?;
        let kind = self.response_headers.get("content-type").and_then(|kind| kind.to_str().ok());
        let is_stream = kind.is_some_and(|kind| kind.contains("event-stream"));
        let body_file = if is_stream { "response.sse" } else { "response.json" };
        let meta = json!({
            "provider": about.provider,
            "wire": about.protocol,
            "model": about.model,
            "status": self.status,
            "streaming": is_stream,
            "features": [about.check],
            "body_file": body_file,
            "request": {
                "method": self.method,
                "url": mask_text(&agentloop::inspect::shown_url(&self.url), secrets),
                "headers": mask_headers(&self.request_headers, secrets),
                "body_file": "request.json",
            },
            "response": { "headers": mask_headers(&self.response_headers, secrets) },
        });
        let meta = serde_json::to_vec_pretty(&meta)?;
        files::replace(&case.join("meta.json"), &meta)?;
        files::replace(&case.join("request.json"), &mask(&self.request_body, secrets))?;
        files::replace(&case.join(body_file), &mask(&self.response_body, secrets))
    }

    /// Returns the keys of the request: values of headers that are secrets, and of the query.
    fn secrets(&self) -> Vec<String> {
        let mut secrets = Vec::new();
        for (name, value) in &self.request_headers {
            if !is_secret_name(name.as_str()) {
                continue;
            }
            // `Bearer KEY`: the key is the last word.
            let value = value.to_str().unwrap_or_default();
            secrets.extend(value.split_whitespace().last().map(str::to_owned));
        }
        let query = self.url.split_once('?').map_or("", |(_, query)| query);
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            if is_secret_name(name) {
                secrets.push(value.to_owned());
            }
        }
        secrets.retain(|secret| secret.len() >= MIN_KEY);
        // The forms in which JSON and URLs contain a key.
        let escaped: Vec<String> = secrets
            .iter()
            .filter_map(|secret| serde_json::to_string(secret).ok())
            .map(|quoted| quoted.trim_matches('"').to_owned())
            .collect();
        secrets.extend(escaped);
        secrets
    }
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|word| name.contains(word))
        && !PUBLIC_NAMES.iter().any(|word| name.contains(word))
}

fn mask_headers(headers: &HeaderMap, secrets: &[String]) -> Map<String, Value> {
    let mut shown = Map::new();
    for (name, value) in headers {
        let value = match is_secret_name(name.as_str()) {
            true => MASK.to_owned(),
            false => mask_text(&String::from_utf8_lossy(value.as_bytes()), secrets),
        };
        shown.insert(name.to_string(), value.into());
    }
    shown
}

fn mask_text(text: &str, secrets: &[String]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASK))
}

/// Replaces secrets in bytes, which need not be text.
fn mask(bytes: &[u8], secrets: &[String]) -> Vec<u8> {
    let mut masked = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        match secrets.iter().find(|secret| rest.starts_with(secret.as_bytes())) {
            Some(secret) => {
                masked.extend_from_slice(MASK.as_bytes());
                rest = &rest[secret.len()..];
            }
            None => {
                masked.push(*first);
                rest = &rest[1..];
            }
        }
    }
    masked
}

impl Transport for Recording {
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        options: SendOptions,
    ) -> BoxFuture<'a, Result<http::Response<Body>>> {
        Box::pin(async move {
            let at = self.to.add(Exchange {
                method: request.method().to_string(),
                url: request.uri().to_string(),
                request_headers: request.headers().clone(),
                request_body: request.body().to_vec(),
                ..Exchange::default()
            });
            let response = self.inner.send(request, options).await?;
            let (head, body) = response.into_parts();
            self.to.change(at, |exchange| {
                exchange.status = Some(head.status.as_u16());
                exchange.response_headers = head.headers.clone();
            });
            let tee = Tee { body, to: self.to.clone(), at };
            Ok(http::Response::from_parts(head, Body::stream(tee)))
        })
    }
}

/// A body that is recorded while it is read.
struct Tee {
    body: Body,
    to: Recorder,
    at: usize,
}

impl Stream for Tee {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = std::task::ready!(Pin::new(&mut self.body).poll_next(context));
        if let Some(Ok(bytes)) = &item {
            self.to.change(self.at, |exchange| {
                let room = MAX_BODY_BYTES.saturating_sub(exchange.response_body.len());
                exchange.response_body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            });
        }
        Poll::Ready(item)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use super::*;

    #[test]
    fn secrets_are_removed_by_type_and_by_value() {
        let mut exchange =
            Exchange { url: "https://x.test/v1?key=query-4711&x=1".into(), ..Exchange::default() };
        let mut put = |name: &'static str, value: &str| {
            exchange.request_headers.insert(name, value.parse().unwrap());
        };
        put("authorization", "Bearer hush-4711-longer");
        put("x-api-key", "hush-4711");
        put("x-goog-api-key", "a\"b\\cdef");
        put("x-debug", "is hush-4711 here");
        put("content-type", "application/json");
        let recorder = Recorder::default();
        let headers = exchange.request_headers.clone();
        recorder.add(exchange);
        let secrets = recorder.with(|state| state.secrets.clone());
        let exchange = Exchange { request_headers: headers, ..Exchange::default() };
        let shown = mask_headers(&exchange.request_headers, &secrets);
        assert_eq!(shown["authorization"], "***");
        assert_eq!(shown["x-debug"], "is *** here");
        assert_eq!(shown["content-type"], "application/json");
        let echoed = mask(
            b"\xff{\"k\":\"hush-4711-longer\",\"j\":\"a\\\"b\\\\cdef\",\"q\":\"query-4711\"}",
            &secrets,
        );
        assert_eq!(echoed, b"\xff{\"k\":\"***\",\"j\":\"***\",\"q\":\"***\"}");
        assert!(!is_secret_name("x-ratelimit-remaining-tokens"));
        assert!(is_secret_name("Set-Cookie") && is_secret_name("openai-organization"));
    }

    #[test]
    fn a_short_value_is_not_searched_for_in_bodies() {
        let mut exchange = Exchange::default();
        exchange.request_headers.insert("x-api-key", "a".parse().unwrap());
        assert!(exchange.secrets().is_empty());
        assert_eq!(mask_headers(&exchange.request_headers, &[])["x-api-key"], "***");
    }
}
