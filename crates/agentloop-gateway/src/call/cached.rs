//! Requests of routes with a cache.

use std::sync::Arc;

use agentloop::protocol::serve::StreamFraming;
use agentloop::{BoxFuture, GatewayCacheScope, Protocol};
use http::header::CACHE_CONTROL;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use tracing::Instrument as _;

use super::api::query_without_key;
use super::chat::{Asked, framing_of, gemini_method};
use super::{Call, headers};
use crate::cache::{Boarded, Entry, Following, Identity, RESULT, Replaying, Seat, shared_headers};
use crate::record::{Record, Verdict};
use crate::route::{CachePolicy, Plan};
use crate::stream::{GatewayBody, Streamed};

/// How many calls of others a request waits for, one after the other, if each ends with an error that is only about its own key.
const MAX_LEADERS: usize = 4;

/// Errors that are about the key of a request, and so not shared with others.
const ABOUT_THE_KEY: [&str; 5] = [
    "budget_exceeded",
    "insufficient_quota",
    "limits_unavailable",
    "model_without_price",
    "rate_limit_exceeded",
];

/// A request that was read.
pub(super) type Load = (Box<Call>, Asked, Plan);

/// The response that a request wants from the cache.
pub(super) struct Wanted {
    key: agentloop::middleware::CacheKey,
    policy: CachePolicy,
}

impl Wanted {
    /// Returns what a request wants from the cache; `None` if its route has none, or it cannot be cached.
    pub(super) fn of(call: &Call, asked: &Asked, plan: &Plan) -> Option<Self> {
        let policy = plan.options.cache.filter(|_| !is_refused(&call.headers))?;
        let protocol = call.api.protocol;
        let is_responses = protocol == Protocol::OpenAiResponses && call.record.call == "chat";
        // The response to a background request has no content yet.
        if is_responses && asked.body.is_true("background") {
            return None;
        }
        // A conversation that the gateway or the provider keeps is continued with the key that it belongs to.
        let is_own = is_responses
            && (asked.body.value("store") != Some(b"false")
                || ["previous_response_id", "conversation"]
                    .iter()
                    .any(|name| asked.body.value(name).is_some_and(|value| value != b"null")));
        let scope = match policy.shared_by {
            GatewayCacheScope::All if !is_own => ("all", ""),
            GatewayCacheScope::Team if !is_own => match &call.key.team {
                Some(team) => ("team", team.as_str()),
                None => ("key", call.key.name.as_str()),
            },
            _ => ("key", call.key.name.as_str()),
        };
        let method = match protocol {
            Protocol::Gemini => gemini_method(&call.api.path),
            _ => query_without_key(&call.api.path),
        };
        let identity = Identity {
            scope,
            protocol,
            call: call.record.call,
            method: &method,
            stream: asked.stream,
            route: &asked.model,
            models: plan.members.iter().map(|member| member.full_name()).collect(),
            strict: plan.options.strict,
            headers: &headers::shaping(&call.headers, protocol),
            body: &asked.body.bytes,
        };
        Some(Self { key: identity.key()?, policy })
    }
}

/// Returns whether the client wants no response from the cache.
fn is_refused(headers: &HeaderMap) -> bool {
    let values = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let mut words = values.flat_map(|value| value.split(',')).map(str::trim);
    words.any(|word| {
        ["no-cache", "no-store"].iter().any(|refused| word.eq_ignore_ascii_case(refused))
    })
}

/// Responds from the cache, with the response of an equal request in progress, or with that of a call that `make` makes.
pub(super) async fn run(
    wanted: Wanted,
    mut load: Load,
    make: fn(Load) -> BoxFuture<'static, Response<GatewayBody>>,
) -> Response<GatewayBody> {
    let Wanted { key, policy } = wanted;
    let cache = Arc::clone(&load.0.state.cache);
    if let Some(entry) = cache.load(&key).await {
        return hit(load, entry);
    }
    for _ in 0..MAX_LEADERS {
        let form = Form::of(&load.0);
        let stored = Arc::clone(&cache);
        let boarded = cache.board(key, policy.ttl, load, |mut load, verdict| {
            load.0.record.verdict = Some(verdict);
            let calling = async move {
                // An equal request may have ended since the first look.
                match stored.load(&key).await {
                    Some(entry) => hit(load, entry),
                    None => {
                        load.0.record.cache = Some("miss");
                        let mut response = make(load).await;
                        response.headers_mut().insert(RESULT, HeaderValue::from_static("miss"));
                        response
                    }
                }
            };
            Box::pin(calling.in_current_span())
        });
        match boarded {
            Boarded::Lead(mut seat) => {
                let head = seat.head().await;
                let mut response = form.respond(seat, head.is_stream, None);
                *response.status_mut() = head.status;
                *response.headers_mut() = head.headers.clone();
                return response;
            }
            Boarded::Follow(mut seat, back) => {
                let head = seat.head().await;
                if seat.verdict().is_some_and(|verdict| is_about_the_key(&verdict)) {
                    load = back;
                    continue;
                }
                let mut record = back.0.record;
                record.cache = Some("wait");
                record.status = head.status;
                let mut response = form.respond(seat, head.is_stream, Some(record));
                *response.status_mut() = head.status;
                *response.headers_mut() = match head.status {
                    StatusCode::OK => shared_headers(&head.headers),
                    // When to send the request again holds for all.
                    _ => head.headers.clone(),
                };
                response.headers_mut().insert(RESULT, HeaderValue::from_static("wait"));
                return response;
            }
        }
    }
    load.0.record.cache = Some("miss");
    make(load).await
}

fn is_about_the_key(verdict: &Verdict) -> bool {
    verdict.error.as_ref().is_some_and(|error| {
        error.provider().is_none() && error.code().is_some_and(|code| ABOUT_THE_KEY.contains(&code))
    })
}

/// How a response is sent to a client.
struct Form {
    protocol: Protocol,
    keep_alive: Option<std::time::Duration>,
}

impl Form {
    fn of(call: &Call) -> Self {
        let protocol = call.api.protocol;
        let is_array = framing_of(protocol, &call.api.path) == StreamFraming::Array;
        Self { protocol, keep_alive: call.state.keep_alive.filter(|_| !is_array) }
    }

    fn respond(
        &self,
        seat: Seat,
        is_stream: bool,
        record: Option<Record>,
    ) -> Response<GatewayBody> {
        if is_stream {
            let source = Box::new(Following::new(seat, self.protocol));
            let framing = StreamFraming::Events;
            let streamed = Streamed::shared(source, framing, self.keep_alive, record);
            return Response::new(GatewayBody::stream(streamed));
        }
        let bytes = seat.whole();
        if let Some(mut record) = record {
            record.adopt(seat.verdict().unwrap_or_default());
            record.saw_bytes(bytes.len());
            record.finish();
        }
        Response::new(GatewayBody::whole(bytes))
    }
}

/// Responds with a stored response.
fn hit((call, ..): Load, mut entry: Entry) -> Response<GatewayBody> {
    let form = Form::of(&call);
    let mut record = call.record;
    record.cache = Some("hit");
    let headers = std::mem::take(&mut entry.headers);
    let body = if entry.is_stream {
        let source = Box::new(Replaying::new(entry));
        let framing = StreamFraming::Events;
        GatewayBody::stream(Streamed::shared(source, framing, form.keep_alive, Some(record)))
    } else {
        record.adopt(entry.verdict());
        let bytes = entry.pieces.pop().unwrap_or_default();
        record.saw_bytes(bytes.len());
        record.finish();
        GatewayBody::whole(bytes)
    };
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    response.headers_mut().insert(RESULT, HeaderValue::from_static("hit"));
    response
}

#[cfg(test)]
mod tests {
    use agentloop::{Error, ErrorKind};

    use super::*;

    #[test]
    fn errors_about_the_key_of_a_call_are_not_for_others() {
        let of = |code: &str, provider: Option<&str>| {
            let mut error = Error::new(ErrorKind::Quota, "no").with_code(code);
            if let Some(provider) = provider {
                error = error.with_provider(provider);
            }
            is_about_the_key(&Verdict { error: Some(error), ..Verdict::default() })
        };
        for code in ABOUT_THE_KEY {
            assert!(of(code, None), "{code}");
            assert!(!of(code, Some("openai")), "the provider's {code} is about the gateway's key");
        }
        assert!(!of("not_expressible", None));
        assert!(!is_about_the_key(&Verdict::default()));
    }

    #[test]
    fn clients_refuse_the_cache_by_a_word_of_a_header() {
        for (value, refused) in [
            ("no-cache", true),
            ("No-Store", true),
            ("max-age=0, no-cache", true),
            ("max-age=0", false),
            ("no-cachet", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static(value));
            assert_eq!(is_refused(&headers), refused, "{value}");
        }
        assert!(!is_refused(&HeaderMap::new()));
    }
}
