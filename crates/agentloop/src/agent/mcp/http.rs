//! Streamable HTTP, over our own transport.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ::http::{Method, Request, Response, StatusCode};
use bytes::Bytes;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
    StreamableHttpError, StreamableHttpPostResponse,
};
use tokio::time::Instant;

use super::events::{Events, events};
use super::server::Address;
use super::streams::Streams;
use super::values::Values;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{
    ERROR_BODY_WAIT, MAX_ERROR_BODY_BYTES, MCP_CLOSE_WAIT, MCP_CONNECT_TIMEOUT,
    MCP_MAX_MESSAGE_BYTES, MCP_MAX_MESSAGE_VALUES, MCP_RECONNECTS,
};
use crate::transport::{Body, HttpTransport, SendOptions, Transport};

/// The longest wait before a stream that broke off is taken up again.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How much of a refusal is told.
const MAX_TOLD_CHARS: usize = 300;

type HttpResult<T> = std::result::Result<T, StreamableHttpError<Error>>;

/// Sends the messages of a conversation.
#[derive(Clone)]
pub(super) struct HttpClient {
    transport: Arc<dyn Transport>,
    headers: Arc<HeaderMap>,
    trouble: Trouble,
    streams: Streams,
}

/// The last thing that went wrong.
#[derive(Clone, Default)]
pub(super) struct Trouble(Arc<Mutex<Option<Error>>>);

impl Trouble {
    pub(super) fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn met(&self, error: Error) -> StreamableHttpError<Error> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        StreamableHttpError::Client(error)
    }
}

/// A transport to that address, and where its troubles are told.
pub(super) fn transport(
    address: &Address,
) -> Result<(StreamableHttpClientTransport<HttpClient>, Trouble)> {
    let mut headers = HeaderMap::new();
    for (name, value) in &address.headers {
        let wrong =
            |_| Error::new(ErrorKind::Config, format!("`{name}` cannot be sent as a header"));
        let key = HeaderName::try_from(name).map_err(|error| wrong(error.to_string()))?;
        let mut value =
            HeaderValue::try_from(value.expose()).map_err(|error| wrong(error.to_string()))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    let trouble = Trouble::default();
    let client = HttpClient {
        transport: address.transport.clone().unwrap_or_else(|| Arc::new(HttpTransport::new())),
        headers: Arc::new(headers),
        trouble: trouble.clone(),
        streams: Streams::default(),
    };
    let mut again = ExponentialBackoff::default();
    again.max_times = Some(MCP_RECONNECTS);
    again.max_delay = Some(LONGEST_PAUSE);
    let mut config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str())
        .max_sse_event_size(MCP_MAX_MESSAGE_BYTES)
        .control_request_timeout(MCP_CLOSE_WAIT);
    config.retry_config = Arc::new(again);
    Ok((StreamableHttpClientTransport::with_client(client, config), trouble))
}

/// The same, and which server it was.
pub(super) fn named(error: &Error, url: &str) -> Error {
    let message = format!("the MCP server at {url} cannot be used: {}", error.message());
    let named = Error::new(error.kind(), message);
    let named = match error.status() {
        Some(status) => named.with_status(status),
        None => named,
    };
    match error.hint() {
        Some(hint) => named.with_hint(hint),
        None => named,
    }
}

impl HttpClient {
    async fn send(
        &self,
        method: Method,
        uri: &str,
        session: Option<&str>,
        custom: HashMap<HeaderName, HeaderValue>,
        extra: &[(HeaderName, &str)],
        body: Bytes,
    ) -> HttpResult<Response<Body>> {
        let wrong = |error: ::http::Error| {
            self.trouble
                .met(Error::new(ErrorKind::Config, format!("`{uri}` cannot be asked: {error}")))
        };
        let mut request = Request::builder().method(method).uri(uri);
        if let Some(headers) = request.headers_mut() {
            headers.extend(self.headers.as_ref().clone());
            headers.extend(custom);
        }
        if let Some(session) = session {
            request = request.header(HEADER_SESSION_ID, session);
        }
        for (name, value) in extra {
            request = request.header(name, *value);
        }
        let request = request.body(body).map_err(wrong)?;
        let options = SendOptions { connect_timeout: Some(MCP_CONNECT_TIMEOUT) };
        self.transport.send(request, options).await.map_err(|error| self.trouble.met(error))
    }

    /// What a status says that is no success.
    async fn refused(&self, answer: Response<Body>) -> StreamableHttpError<Error> {
        let status = answer.status();
        let body =
            answer.into_body().head(MAX_ERROR_BODY_BYTES, Instant::now() + ERROR_BODY_WAIT).await;
        let body = String::from_utf8_lossy(&body);
        let told: String = body.trim().chars().take(MAX_TOLD_CHARS).collect();
        let kind = match status.as_u16() {
            401 | 403 => ErrorKind::Auth,
            404 => ErrorKind::NotFound,
            429 => ErrorKind::RateLimit,
            500.. => ErrorKind::Server,
            _ => ErrorKind::InvalidRequest,
        };
        let error = Error::new(kind, format!("HTTP {status} {told}").trim_end().to_owned())
            .with_status(status.as_u16());
        self.trouble.met(match kind {
            ErrorKind::Auth => error.with_hint("it wants a token: set it with `McpServer::bearer`"),
            _ => error,
        })
    }

    fn unreadable(&self, why: impl std::fmt::Display) -> StreamableHttpError<Error> {
        let message = format!("the answer is no message of MCP: {why}");
        self.trouble.met(Error::new(ErrorKind::Protocol, message))
    }
}

/// Whether the answer is of that media type.
fn is(answer: &Response<Body>, mime: &str) -> bool {
    let kind = answer.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    kind.len() >= mime.len() && kind[..mime.len()].eq_ignore_ascii_case(mime.as_bytes())
}

fn accepts() -> String {
    format!("{JSON_MIME_TYPE}, {EVENT_STREAM_MIME_TYPE}")
}

impl StreamableHttpClient for HttpClient {
    type Error = Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<StreamableHttpPostResponse> {
        let wants_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        let body = Bytes::from(serde_json::to_vec(&message)?);
        let accepts = accepts();
        let extra = [(ACCEPT, accepts.as_str()), (CONTENT_TYPE, JSON_MIME_TYPE)];
        let session = session.as_deref();
        let answer = self.send(Method::POST, &uri, session, custom, &extra, body).await?;
        let status = answer.status();
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let begun = answer.headers().get(HEADER_SESSION_ID);
        let begun = begun.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let json = is(&answer, JSON_MIME_TYPE);
        if !status.is_success() {
            let auth = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
            if !json || auth {
                return Err(self.refused(answer).await);
            }
            // Some servers send their errors with a status that says so too.
            let (head, body) = answer.into_parts();
            let body = body.head(MAX_ERROR_BODY_BYTES, Instant::now() + ERROR_BODY_WAIT).await;
            return match serde_json::from_slice(&body) {
                Ok(message @ ServerJsonRpcMessage::Error(_)) => {
                    Ok(StreamableHttpPostResponse::Json(message, begun))
                }
                _ => Err(self.refused(Response::from_parts(head, Body::whole(body))).await),
            };
        }
        if is(&answer, EVENT_STREAM_MIME_TYPE) {
            let events = self.streams.watch(events(answer.into_body(), MCP_MAX_MESSAGE_BYTES));
            return Ok(StreamableHttpPostResponse::Sse(events, begun));
        }
        if !wants_answer {
            // It should have no body; whatever it has, nobody waits for it.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !json {
            let kind = answer.headers().get(CONTENT_TYPE).cloned();
            return Err(self.unreadable(format!("its type is {kind:?}")));
        }
        let body = answer.into_body().collect(MCP_MAX_MESSAGE_BYTES).await;
        let body = body.map_err(|error| self.trouble.met(error))?;
        if !Values::are_few(&body) {
            return Err(
                self.unreadable(format!("it has more than {MCP_MAX_MESSAGE_VALUES} values"))
            );
        }
        match serde_json::from_slice(&body) {
            Ok(message) => Ok(StreamableHttpPostResponse::Json(message, begun)),
            Err(error) => Err(self.unreadable(error)),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<Events> {
        let mut extra = vec![(ACCEPT, EVENT_STREAM_MIME_TYPE)];
        if let Some(last) = &last_event {
            let name = HeaderName::try_from(HEADER_LAST_EVENT_ID)
                .map_err(|error| self.unreadable(error))?;
            extra.push((name, last));
        }
        if !self.streams.may_begin().await {
            let message = format!("{MCP_RECONNECTS} streams in a row ended without a message");
            return Err(self.trouble.met(Error::new(ErrorKind::Connection, message)));
        }
        let session = session.as_deref();
        let answer = self.send(Method::GET, &uri, session, custom, &extra, Bytes::new()).await?;
        match answer.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => Err(self.refused(answer).await),
            _ if is(&answer, EVENT_STREAM_MIME_TYPE) => {
                Ok(self.streams.watch(events(answer.into_body(), MCP_MAX_MESSAGE_BYTES)))
            }
            _ => Err(StreamableHttpError::ServerDoesNotSupportSse),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<()> {
        let sent = self.send(Method::DELETE, &uri, Some(&session), custom, &[], Bytes::new());
        let answer = sent.await?;
        match answer.status() {
            // Not every server can end a session; it then forgets it.
            StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            status if status.is_success() => Ok(()),
            _ => Err(self.refused(answer).await),
        }
    }
}
