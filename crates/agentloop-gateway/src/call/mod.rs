//! Handles requests.

mod api;
mod attempt;
mod cached;
mod chat;
mod failure;
mod headers;
#[cfg(test)]
mod law;
mod other;
mod server_tools;
mod task;
mod translate;

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use agentloop::internal::{LongWork, poll_contained};
use agentloop::protocol::serve::{Operation, shown_key};
use agentloop::{Error, ErrorKind, Protocol};
use bytes::Bytes;
use http::header::{CONNECTION, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, Version,
};
use http_body::Body;
use http_body_util::{BodyExt, Limited};
use ring::rand::{SecureRandom as _, SystemRandom};

use api::{Api, Work};
pub(crate) use chat::percent_decode;
pub(crate) use failure::{for_client, own, respond};

use crate::account::{Accounts, Estimate, Hold, Origin, read_tags};
use crate::connections::Usage;
use crate::head;
use crate::key;
use crate::record::{Record, Recorder};
use crate::route::Member;
use crate::state::State;
use crate::store::KeyRecord;
use crate::stream::GatewayBody;

/// The header with the id of a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The value of `X-Content-Type-Options`: the content type is what it says.
const NO_SNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// The wait that is proposed while the keys cannot be read.
const KEYS_WAIT: Duration = Duration::from_secs(1);

/// A request of a client that may make it.
pub(crate) struct Call {
    pub(crate) state: Arc<State>,
    pub(crate) api: Api,
    pub(crate) key: Arc<KeyRecord>,
    pub(crate) accounts: Accounts,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) record: Record,
}

impl Call {
    /// Begins the request, within the limits of its key and its team.
    pub(crate) async fn enter(&mut self, estimate: &Estimate) -> Result<(), Error> {
        let team = self.key.team.as_ref().and_then(|name| {
            self.state.teams.get(name).cloned().or_else(|| self.accounts.find_team(name))
        });
        let pass = self.accounts.enter(&self.key, team.as_ref(), estimate.tokens()).await?;
        self.record.pass = Some(pass);
        Ok(())
    }

    /// Begins a call to a provider, within the budgets of the key and its team.
    pub(crate) async fn reserve(
        &self,
        member: &Member,
        estimate: &Estimate,
    ) -> Result<Hold, Error> {
        let Some(pass) = &self.record.pass else {
            return Err(Error::new(ErrorKind::Other, "the request has not begun"));
        };
        let origin = Origin {
            request: &self.record.id,
            api: self.api.protocol,
            call: self.record.call,
            model: &self.record.model,
            tags: &self.record.tags,
            provider: member.provider(),
            served: &member.target.model,
        };
        let model = member.slot.client.priced(&member.target);
        let (model, settings) = (model.as_ref(), &self.state.ledger);
        if self.accounts.is_shared() {
            Box::pin(self.accounts.reserve(pass, origin, model, estimate, settings)).await
        } else {
            self.accounts.reserve_alone(pass, origin, model, estimate, settings)
        }
    }
}

/// The head of a request, for the calls that need no body.
struct Head<'a> {
    method: &'a Method,
    uri: &'a Uri,
    headers: &'a HeaderMap,
}

/// A request whose head was read.
enum Begun {
    /// It needs no key.
    Done(Box<Response<GatewayBody>>),
    /// It may be made. Errors about it are in the format of the protocol.
    Admitted(Box<Call>, Protocol),
    /// It may not be made.
    Refused(Box<Refused>),
}

/// A request that is refused when its body has been read.
struct Refused {
    state: Arc<State>,
    headers: HeaderMap,
    record: Record,
    protocol: Protocol,
    error: Error,
}

/// Handles a request.
///
/// What needs no body is done at once, so that the future has no room for the head of the request. It is created for every request, and
/// larger blocks of memory take much longer to get.
pub(crate) fn handle<B>(
    state: Arc<State>,
    accounts: Accounts,
    recorder: Arc<dyn Recorder>,
    request: Request<B>,
    span: &tracing::Span,
    usage: &Arc<Usage>,
) -> impl Future<Output = Result<Response<GatewayBody>, Infallible>> + use<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let id = new_id();
    let (head, body) = request.into_parts();
    let version = head.version;
    let begun = begin(state, accounts, head, move |protocol| {
        Record::new(show_id(id), protocol, recorder, span.clone())
    });
    // Without a key, a request does not keep its connection from giving way to another.
    let in_use = matches!(begun, Begun::Admitted(..)).then(|| usage.begin());
    async move {
        let response = match begun {
            Begun::Done(response) => *response,
            Begun::Admitted(mut call, protocol) => {
                match read_body(&call.state, &call.headers, body).await {
                    Ok(body) => {
                        let work = LongWork::InPlace.for_bytes(body.len());
                        call.body = body;
                        // Other tasks of the thread do not wait while a large request is read and converted.
                        let mut running = pin!(run(call));
                        poll_fn(|context| work.run(|| poll_contained(running.as_mut(), context)))
                            .await
                            .unwrap_or_else(|said| failure::panicked(protocol, &said))
                    }
                    Err(error) => close(refuse(call.record, protocol, error), version),
                }
            }
            Begun::Refused(refused) => {
                let has_ended = Box::pin(discard(&refused.state, &refused.headers, body)).await;
                let Refused { record, protocol, error, .. } = *refused;
                let response = refuse(record, protocol, error);
                if has_ended { response } else { close(response, version) }
            }
        };
        let mut response = match in_use {
            Some(in_use) => response.map(|body| body.held(in_use)),
            None => response,
        };
        if let Ok(value) = HeaderValue::try_from(show_id(id)) {
            response.headers_mut().insert(REQUEST_ID, value);
        }
        // The content type may be that of a provider, and no browser may take it for a page.
        response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, NO_SNIFF);
        Ok(response)
    }
}

/// Reads the head of a request.
fn begin(
    state: Arc<State>,
    accounts: Accounts,
    head: Parts,
    record: impl FnOnce(Protocol) -> Record,
) -> Begun {
    let checked = head::check(&head);
    let place = Head { method: &head.method, uri: &head.uri, headers: &head.headers };
    if checked.is_ok()
        && let Some(response) = without_key(&place, &accounts)
    {
        return Begun::Done(Box::new(response));
    }
    let protocol = api::protocol_of_path(head.uri.path(), &head.headers);
    let mut record = record(protocol);
    let admitted = match checked {
        Ok(()) => admit(&state, &accounts, &place, &mut record),
        Err(message) => Err(own(StatusCode::BAD_REQUEST, head::AMBIGUOUS, message)),
    };
    match admitted {
        Ok((api, key)) => {
            let (headers, body) = (head.headers, Bytes::new());
            let call = Call { state, api, key, accounts, headers, body, record };
            Begun::Admitted(Box::new(call), protocol)
        }
        Err(error) => {
            let headers = head.headers;
            Begun::Refused(Box::new(Refused { state, headers, record, protocol, error }))
        }
    }
}

/// Responds to the calls that need no key: health, and what agents ask before they begin.
fn without_key(head: &Head<'_>, accounts: &Accounts) -> Option<Response<GatewayBody>> {
    let path = head.uri.path();
    let text = |status: StatusCode, text: Bytes| {
        let mut response = Response::new(GatewayBody::whole(text));
        *response.status_mut() = status;
        Some(response)
    };
    match (head.method, path) {
        (&Method::GET | &Method::HEAD, "/health/live") => {
            text(StatusCode::OK, Bytes::from_static(b"ok\n"))
        }
        (&Method::GET | &Method::HEAD, "/health/ready") => {
            text(StatusCode::OK, accounts.readiness().into())
        }
        // Claude Code asks it before it begins.
        (&Method::HEAD, "/" | "/api/hello") => text(StatusCode::OK, Bytes::from_static(b"")),
        // Codex tries a WebSocket first. Only this status makes it use HTTP at once.
        (&Method::GET, path)
            if path.ends_with("/responses") && head.headers.contains_key("upgrade") =>
        {
            text(
                StatusCode::UPGRADE_REQUIRED,
                Bytes::from_static(b"this server has no WebSocket; use POST\n"),
            )
        }
        _ => None,
    }
}

/// Returns the call and the key of a request.
fn admit(
    state: &State,
    accounts: &Accounts,
    head: &Head<'_>,
    record: &mut Record,
) -> Result<(Api, Arc<KeyRecord>), Error> {
    let shown = shown_key(head.headers).or_else(|| api::key_of_query(head.uri));
    let now = record.began.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let Some(shown) = shown else {
        return Err(own(
            StatusCode::UNAUTHORIZED,
            "missing_api_key",
            "the request has no API key; send it as `Authorization: Bearer`, `x-api-key` or `x-goog-api-key`",
        ));
    };
    let hash = key::hash(shown);
    let known = state.keys.find_hash(&hash, now).cloned();
    let Some(key) = known.or_else(|| accounts.find_key(&hash, now)) else {
        if !accounts.knows_keys() {
            // The key may be right: the fault is not the client's.
            let message = "the gateway could not read its API keys yet; try again in a moment";
            let error = own(StatusCode::SERVICE_UNAVAILABLE, "keys_unavailable", message);
            return Err(error.with_retry_after(Some(KEYS_WAIT)));
        }
        let message = "the API key is not known to this gateway, was revoked, or has expired";
        return Err(own(StatusCode::UNAUTHORIZED, "invalid_api_key", message));
    };
    record.key = Some(key.name.clone());
    record.team.clone_from(&key.team);
    record.tags = read_tags(&key.tags, head.headers)?;
    let Some(api) = Api::of(head.method, head.uri, head.headers) else {
        let message = format!("the gateway does not serve {} {}", head.method, head.uri.path());
        return Err(own(StatusCode::NOT_FOUND, "unknown_url", message));
    };
    record.api = api.protocol;
    record.call = match api.work {
        Work::Call(Operation::Chat) => "chat",
        Work::Call(Operation::Embed) => "embed",
        Work::Call(Operation::Count) => "count",
        Work::Call(Operation::Models | Operation::Model) => "models",
        Work::Task(modality) => modality.as_str(),
    };
    Ok((api, key))
}

/// Reads the body of a request that is refused, without keeping it. Returns whether it has ended.
///
/// A client that is still sending would otherwise see a broken connection in place of the response, and so would its next request on the
/// same connection. At most as much is read as of a request that is accepted.
async fn discard<B: Body<Data = Bytes>>(state: &State, headers: &HeaderMap, body: B) -> bool {
    // The client waits for a permission to send, which the response denies.
    if headers.contains_key(http::header::EXPECT) {
        return false;
    }
    let reading = async {
        let mut body = pin!(body);
        let mut left = state.max_body_bytes;
        while let Some(frame) = body.as_mut().frame().await {
            let Ok(frame) = frame else { return false };
            let length = frame.data_ref().map_or(0, Bytes::len);
            let Some(rest) = left.checked_sub(length) else { return false };
            left = rest;
        }
        true
    };
    tokio::time::timeout(state.client_timeout, reading).await.unwrap_or(false)
}

/// Announces that the connection ends after a response, because the body of its request was not read.
fn close(mut response: Response<GatewayBody>, version: Version) -> Response<GatewayBody> {
    // HTTP/2 ends the stream of a request without its connection.
    if version <= Version::HTTP_11 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn read_body<B>(state: &State, headers: &HeaderMap, body: B) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let most = state.max_body_bytes;
    let too_large = || {
        let message = format!("the body of the request is larger than {most} bytes");
        own(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", message)
    };
    let named = headers.get(http::header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if named.and_then(|text| text.parse::<u64>().ok()).is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    let encoding =
        headers.get(http::header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    if encoding.is_some_and(|name| !name.eq_ignore_ascii_case("identity")) {
        let message = "the gateway reads request bodies without content-encoding only";
        return Err(own(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", message));
    }
    let reading = Limited::new(body, most).collect();
    match tokio::time::timeout(state.client_timeout, reading).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => {
            let message = format!("the body of the request cannot be read: {error}");
            Err(own(StatusCode::BAD_REQUEST, "unreadable_body", message))
        }
        Err(_) => {
            let message = "the body of the request did not arrive in time";
            Err(own(StatusCode::REQUEST_TIMEOUT, "request_timeout", message))
        }
    }
}

/// Responds with an error, and records it.
pub(crate) fn refuse(
    mut record: Record,
    protocol: Protocol,
    error: Error,
) -> Response<GatewayBody> {
    let response = respond(protocol, &error);
    record.status = response.status();
    record.error = Some(error);
    record.finish();
    response
}

async fn run(mut call: Box<Call>) -> Response<GatewayBody> {
    match call.api.work {
        Work::Call(operation @ (Operation::Models | Operation::Model)) => {
            let shown = match operation {
                Operation::Model => other::model(&call),
                _ => Ok(other::models(&call)),
            };
            match shown {
                Ok(body) => {
                    call.record.is_complete = true;
                    json(call.record, body)
                }
                Err(error) => refuse(call.record, call.api.protocol, error),
            }
        }
        Work::Call(Operation::Chat) => chat::run(call).await,
        // In boxes, so the future of a chat does not have room for these.
        Work::Call(Operation::Count) => Box::pin(other::count(call)).await,
        Work::Call(Operation::Embed) => Box::pin(other::embed(call)).await,
        Work::Task(_) => Box::pin(task::run(call)).await,
    }
}

/// Responds with a complete JSON document, and records it.
pub(crate) fn json(mut record: Record, body: Bytes) -> Response<GatewayBody> {
    record.saw_bytes(body.len());
    record.finish();
    let mut response = Response::new(GatewayBody::whole(body));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, kind);
    response
}

/// How many bytes of an id are random.
const ID_BYTES: usize = 12;

/// How many ids the system is asked for at once.
const ID_COUNT: usize = 32;

/// Random numbers for ids that are not used yet: a call of the system for each request would cost more than the rest of the id.
struct Random {
    bytes: [u8; ID_BYTES * ID_COUNT],
    used: usize,
}

thread_local! {
    static RANDOM: RefCell<Random> =
        const { RefCell::new(Random { bytes: [0; ID_BYTES * ID_COUNT], used: ID_BYTES * ID_COUNT }) };
}

impl Random {
    fn next_id(&mut self) -> [u8; ID_BYTES] {
        if self.used >= self.bytes.len() {
            // Without random numbers ids repeat, which hurts the log only.
            let _ = SystemRandom::new().fill(&mut self.bytes);
            self.used = 0;
        }
        let rest = self.bytes.get(self.used..).unwrap_or_default();
        self.used += ID_BYTES;
        rest.first_chunk().copied().unwrap_or_default()
    }
}

/// Returns a new id for a request.
fn new_id() -> [u8; ID_BYTES] {
    RANDOM.with_borrow_mut(Random::next_id)
}

/// Writes an id as clients and the log see it.
fn show_id(id: [u8; ID_BYTES]) -> String {
    let mut text = String::with_capacity("req_".len() + 2 * ID_BYTES);
    text.push_str("req_");
    key::push_hex(&mut text, &id);
    text
}

#[cfg(test)]
mod tests {
    use agentloop::{AgentLoop, GatewayConfig};
    use http_body_util::Full;

    use super::*;
    use crate::key::KeyRing;
    use crate::metrics::Metrics;

    #[test]
    fn ids_of_requests_are_different_on_all_threads() {
        let make = || (0..3 * ID_COUNT).map(|_| show_id(new_id())).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(make)).collect();
        let ids: Vec<_> = threads.into_iter().flat_map(|it| it.join().unwrap()).collect();
        let distinct: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), 4 * 3 * ID_COUNT);
        assert!(ids.iter().all(|id| id.len() == "req_".len() + 2 * ID_BYTES), "{:?}", ids[0]);
    }

    /// Found by counting instructions: the future of a request had 20 kB, which were moved five times for every request. Blocks of more
    /// than 1,032 bytes are not in the cache that glibc has for each thread.
    #[test]
    fn the_future_of_a_request_is_small() {
        let client = AgentLoop::builder().provider(agentloop_sim::provider()).build().unwrap();
        let (config, keys) = (GatewayConfig::default(), KeyRing::default());
        let state = Arc::new(State::new(&client, &config, keys, &|_| None).unwrap());
        let (request, span) = (Request::new(Full::<Bytes>::default()), tracing::Span::none());
        let recorder = Arc::new(Metrics::default());
        let (accounts, usage) = (Accounts::in_memory(), Arc::default());
        let future = handle(state, accounts, recorder, request, &span, &usage);
        assert!(size_of_val(&future) <= 1_032, "{} bytes", size_of_val(&future));
        assert!(size_of::<Call>() <= 1_032, "{} bytes", size_of::<Call>());
    }
}
