//! The streamable HTTP transport of MCP, over the transport of this library.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
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
use super::server::HttpServer;
use super::streams::Streams;
use super::values::Values;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{
    ERROR_BODY_WAIT, MAX_ERROR_BODY_BYTES, MCP_CLOSE_WAIT, MCP_CONNECT_TIMEOUT,
    MCP_MAX_MESSAGE_BYTES, MCP_MAX_MESSAGE_VALUES, MCP_RECONNECTS,
};
use crate::lock::lock;
use crate::transport::{Body, HttpTransport, SendOptions, Transport};

/// The longest delay before a truncated stream is resumed.
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(10);

/// The most characters of an error response that are reported.
const MAX_ERROR_CHARS: usize = 300;

type HttpResult<T> = std::result::Result<T, StreamableHttpError<Error>>;

/// Sends the messages of a connection.
#[derive(Clone)]
pub(super) struct HttpClient {
    transport: Arc<dyn Transport>,
    headers: Arc<HeaderMap>,
    last_error: LastError,
    streams: Streams,
}

/// The last error of the transport.
#[derive(Clone, Default)]
pub(super) struct LastError(Arc<Mutex<Option<Error>>>);

impl LastError {
    pub(super) fn take(&self) -> Option<Error> {
        lock(&self.0).take()
    }

    fn record(&self, error: Error) -> StreamableHttpError<Error> {
        *lock(&self.0) = Some(error.clone());
        StreamableHttpError::Client(error)
    }
}

/// Returns a transport to the server, and the place where its last error is recorded.
pub(super) fn transport(
    server: &HttpServer,
) -> Result<(StreamableHttpClientTransport<HttpClient>, LastError)> {
    let mut headers = HeaderMap::new();
    for (name, value) in &server.headers {
        // The error of a value is not reported, because the value is a secret.
        let invalid = |what: &str| {
            let message = format!("the {what} of the header `{name}` is not valid in HTTP");
            Error::new(ErrorKind::Config, message)
        };
        let key = HeaderName::try_from(name).map_err(|_| invalid("name"))?;
        let mut value = HeaderValue::try_from(value.expose()).map_err(|_| invalid("value"))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    let last_error = LastError::default();
    let client = HttpClient {
        transport: server.transport.clone().unwrap_or_else(|| Arc::new(HttpTransport::new())),
        headers: Arc::new(headers),
        last_error: last_error.clone(),
        streams: Streams::default(),
    };
    let mut backoff = ExponentialBackoff::default();
    backoff.max_times = Some(MCP_RECONNECTS);
    backoff.max_delay = Some(MAX_RECONNECT_DELAY);
    let mut config = StreamableHttpClientTransportConfig::with_uri(server.url.as_str())
        .max_sse_event_size(MCP_MAX_MESSAGE_BYTES)
        .control_request_timeout(MCP_CLOSE_WAIT);
    config.retry_config = Arc::new(backoff);
    Ok((StreamableHttpClientTransport::with_client(client, config), last_error))
}

/// Adds the URL of the server to an error.
pub(super) fn with_server_url(error: &Error, url: &str) -> Error {
    let message = format!("the connection to the MCP server {url} failed: {}", error.message());
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
        let invalid = |error: ::http::Error| {
            let message = format!("`{uri}` is not a valid URL of an MCP server: {error}");
            self.last_error.record(Error::new(ErrorKind::Config, message))
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
        let request = request.body(body).map_err(invalid)?;
        let options = SendOptions::default().with_connect_timeout(MCP_CONNECT_TIMEOUT);
        self.transport.send(request, options).await.map_err(|error| self.last_error.record(error))
    }

    /// Returns the error of a response whose status is not a success.
    async fn status_error(&self, response: Response<Body>) -> StreamableHttpError<Error> {
        let status = response.status();
        let body =
            response.into_body().head(MAX_ERROR_BODY_BYTES, Instant::now() + ERROR_BODY_WAIT).await;
        let body = String::from_utf8_lossy(&body);
        let text: String = body.trim().chars().take(MAX_ERROR_CHARS).collect();
        let kind = match status.as_u16() {
            401 | 403 => ErrorKind::Auth,
            404 => ErrorKind::NotFound,
            429 => ErrorKind::RateLimit,
            500.. => ErrorKind::Server,
            _ => ErrorKind::InvalidRequest,
        };
        let error = Error::new(kind, format!("HTTP {status} {text}").trim_end().to_owned())
            .with_status(status.as_u16());
        self.last_error.record(match kind {
            ErrorKind::Auth => error.with_hint("set an access token with `McpServer::bearer`"),
            _ => error,
        })
    }

    fn protocol_error(&self, why: impl std::fmt::Display) -> StreamableHttpError<Error> {
        let message = format!("the response is not an MCP message: {why}");
        self.last_error.record(Error::new(ErrorKind::Protocol, message))
    }
}

/// Returns whether the response has this media type.
fn has_media_type(response: &Response<Body>, mime: &str) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    kind.len() >= mime.len() && kind[..mime.len()].eq_ignore_ascii_case(mime.as_bytes())
}

fn accept_header() -> String {
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
        let needs_response = matches!(message, ClientJsonRpcMessage::Request(_));
        let body = Bytes::from(serde_json::to_vec(&message)?);
        let accepts = accept_header();
        let extra = [(ACCEPT, accepts.as_str()), (CONTENT_TYPE, JSON_MIME_TYPE)];
        let session = session.as_deref();
        let response = self.send(Method::POST, &uri, session, custom, &extra, body).await?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let begun = response.headers().get(HEADER_SESSION_ID);
        let begun = begun.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let json = has_media_type(&response, JSON_MIME_TYPE);
        if !status.is_success() {
            let auth = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
            if !json || auth {
                return Err(self.status_error(response).await);
            }
            // Some servers send JSON-RPC errors with an error status.
            let (head, body) = response.into_parts();
            let body = body.head(MAX_ERROR_BODY_BYTES, Instant::now() + ERROR_BODY_WAIT).await;
            return match serde_json::from_slice(&body) {
                Ok(message @ ServerJsonRpcMessage::Error(_)) => {
                    Ok(StreamableHttpPostResponse::Json(message, begun))
                }
                _ => Err(self.status_error(Response::from_parts(head, Body::whole(body))).await),
            };
        }
        if has_media_type(&response, EVENT_STREAM_MIME_TYPE) {
            let events = self.streams.watch(events(response.into_body(), MCP_MAX_MESSAGE_BYTES));
            return Ok(StreamableHttpPostResponse::Sse(events, begun));
        }
        if !needs_response {
            // The response should have no body. If it has one, it is ignored.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !json {
            let kind = response.headers().get(CONTENT_TYPE).cloned();
            return Err(self.protocol_error(format!("its content type is {kind:?}")));
        }
        let body = response.into_body().collect(MCP_MAX_MESSAGE_BYTES).await;
        let body = body.map_err(|error| self.last_error.record(error))?;
        if !Values::are_within_limit(&body) {
            return Err(self
                .protocol_error(format!("it has more than {MCP_MAX_MESSAGE_VALUES} JSON values")));
        }
        match serde_json::from_slice(&body) {
            Ok(message) => Ok(StreamableHttpPostResponse::Json(message, begun)),
            Err(error) => Err(self.protocol_error(error)),
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
                .map_err(|error| self.protocol_error(error))?;
            extra.push((name, last));
        }
        if !self.streams.wait_until_allowed().await {
            let message =
                format!("{MCP_RECONNECTS} event streams in a row ended without a message");
            return Err(self.last_error.record(Error::new(ErrorKind::Connection, message)));
        }
        let session = session.as_deref();
        let response = self.send(Method::GET, &uri, session, custom, &extra, Bytes::new()).await?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => Err(self.status_error(response).await),
            _ if has_media_type(&response, EVENT_STREAM_MIME_TYPE) => {
                Ok(self.streams.watch(events(response.into_body(), MCP_MAX_MESSAGE_BYTES)))
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
        let response = sent.await?;
        match response.status() {
            // Some servers cannot end a session explicitly.
            StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            status if status.is_success() => Ok(()),
            _ => Err(self.status_error(response).await),
        }
    }
}
