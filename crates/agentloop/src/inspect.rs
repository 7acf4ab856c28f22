//! Shows what would be sent for a request, and how a response would be read, without a network.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::chat::{Access, ChatRequest, EmbedRequest, EmbedResponse, Warning};
use crate::client::{AgentLoop, Reading, Reply, prepare_chat, prepare_embed};
use crate::error::{Error, ErrorKind, Result};
use crate::history::depth;
use crate::middleware::Dispatch as _;
use crate::protocol::{self, ChatDecoder, DecodeContext, Emitter, Encoded, Protocol, codec};
use crate::provider::{KeySource, Provider, Target, join};
use crate::secret::mask;
pub use crate::secret::mask::url as shown_url;
use crate::stream::ChatStream;
use crate::transport::Body;

/// A request as it would be sent, with `***` in place of the key.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct EncodedRequest {
    /// The HTTP method.
    pub method: String,
    /// The URL.
    pub url: String,
    /// The headers.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Box<RawValue>,
    /// Warnings about parameters that were changed or left out.
    pub warnings: Vec<Warning>,
}

/// Encodes a request as `ai` would send it. Media with URLs are not downloaded.
///
/// ```
/// use agentloop::{AgentLoop, ChatRequest, Provider, inspect};
///
/// let lab = Provider::openai_compatible("lab", "http://localhost:8000/v1");
/// let ai = AgentLoop::builder().provider(lab).build()?;
/// let encoded = inspect::encode(&ai, &ChatRequest::new("lab/m").user("Hello"), false)?;
/// assert_eq!((encoded.method.as_str(), encoded.url.as_str()), ("POST", "http://localhost:8000/v1/chat/completions"));
/// # Ok::<(), agentloop::Error>(())
/// ```
///
/// # Errors
///
/// Fails if the request cannot be sent. A missing key is not an error.
pub fn encode(ai: &AgentLoop, request: &ChatRequest, stream: bool) -> Result<EncodedRequest> {
    if let Some(refusal) = depth::refusal(request) {
        return Err(refusal);
    }
    let (target, encoded, _) = prepare_chat(&ai.inner().registry, request, stream)?;
    shown(ai, &target.provider, encoded, request.access.as_deref())
}

/// Encodes a request for embeddings as `ai` would send it: one HTTP request for each batch of texts, in order.
///
/// ```
/// use agentloop::{AgentLoop, EmbedRequest, Provider, inspect};
///
/// let lab = Provider::openai_compatible("lab", "http://localhost:8000/v1");
/// let ai = AgentLoop::builder().provider(lab).build()?;
/// let calls = inspect::encode_embed(&ai, &EmbedRequest::new("lab/m", ["a", "b"]))?;
/// assert_eq!(calls.len(), 1);
/// # Ok::<(), agentloop::Error>(())
/// ```
///
/// # Errors
///
/// Fails if the request cannot be sent. A missing key is not an error.
pub fn encode_embed(ai: &AgentLoop, request: &EmbedRequest) -> Result<Vec<EncodedRequest>> {
    if let Some(refusal) = depth::refusal_of_fields("extra_body", &request.extra_body) {
        return Err(refusal);
    }
    let (target, batches) = prepare_embed(&ai.inner().registry, request)?;
    let provider = &target.provider;
    let texts = request.input.as_slice();
    let batch = |range: std::ops::Range<usize>| {
        let texts = &texts[range];
        codec(provider.protocol)
            .encode_embed(provider, &target.model, request, texts)
            .and_then(|encoded| shown(ai, provider, encoded, request.access.as_deref()))
            .map_err(|error| error.with_provider(provider.name.as_ref()))
    };
    batches.into_iter().map(batch).collect()
}

/// Returns a request without its key.
fn shown(
    ai: &AgentLoop,
    provider: &Provider,
    encoded: Encoded,
    access: Option<&Access>,
) -> Result<EncodedRequest> {
    let name = provider.name.as_ref();
    let client = ai.inner();
    let has_own = client.own_key(name).or(access.and_then(|access| access.key(name))).is_some();
    let base_url = match access.and_then(|access| access.base_url(name)) {
        Some(url) => Cow::Borrowed(url),
        None => client.registry.base_url(provider)?,
    };
    let mut headers: BTreeMap<String, String> = encoded
        .headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.to_string(), mask::header(name.as_str(), &value))
        })
        .collect();
    for (name, template) in &provider.env_headers {
        headers.insert(name.to_ascii_lowercase(), mask::header(name, template));
    }
    // A required key is shown as `***` even if it is missing, an optional one only if it is set.
    let has_key = match provider.key {
        _ if has_own => true,
        KeySource::None if client.registry.credential(provider).is_some() => true,
        KeySource::EnvIfSet(_) if client.registry.credential(provider).is_some() => true,
        KeySource::None => false,
        KeySource::EnvIfSet(_) => client.registry.key(provider).is_ok_and(|key| key.is_some()),
        _ => true,
    };
    if let Some(name) = provider.auth.header().filter(|_| has_key) {
        headers.insert(name.to_owned(), provider.auth.value(crate::secret::MASK));
    }
    let body = String::from_utf8_lossy(&encoded.body).into_owned();
    Ok(EncodedRequest {
        method: encoded.method.to_string(),
        url: mask::url(&join(&base_url, &encoded.path)),
        headers,
        body: RawValue::from_string(body).map_err(|error| {
            Error::new(ErrorKind::InvalidRequest, "the body is not JSON").with_source(error)
        })?,
        warnings: encoded.warnings,
    })
}

/// The response of a provider, as bytes.
///
/// ```
/// use agentloop::inspect::HttpResponse;
///
/// let response = HttpResponse::new("data: [DONE]").cut(4);
/// assert_eq!(response.pieces.len(), 3);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpResponse {
    /// The HTTP status.
    pub status: u16,
    /// The HTTP headers.
    pub headers: HeaderMap,
    /// The bytes of the body, in the pieces in which they arrive.
    pub pieces: Vec<Bytes>,
}

impl HttpResponse {
    /// Creates a response of status 200 whose body arrives in one piece.
    pub fn new(body: impl Into<Bytes>) -> Self {
        Self { status: 200, headers: HeaderMap::new(), pieces: vec![body.into()] }
    }

    /// Cuts the body into pieces of `size` bytes.
    #[must_use]
    pub fn cut(mut self, size: usize) -> Self {
        let size = size.max(1);
        let whole = self.pieces.concat();
        self.pieces = whole.chunks(size).map(Bytes::copy_from_slice).collect();
        self
    }

    fn error(&self, provider: &Provider, model: Option<&str>) -> Option<Error> {
        let failed = !(200..300).contains(&self.status);
        failed.then(|| {
            let body = self.pieces.concat();
            let codec = codec(provider.protocol);
            let error = codec.decode_error(&provider.name, self.status, &self.headers, &body);
            match model {
                Some(model) => error.with_model(model),
                None => error,
            }
        })
    }
}

/// How to decode a response.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// The provider that sent it.
    pub provider: String,
    /// The protocol. `None` detects which of the provider's protocols the response is written in.
    pub protocol: Option<Protocol>,
    /// The requested model.
    pub model: Option<String>,
    /// Whether the request was for a stream.
    pub stream: bool,
}

impl DecodeOptions {
    /// Creates options for a response of this provider.
    pub fn new(provider: impl Into<String>) -> Self {
        Self { provider: provider.into(), ..Self::default() }
    }
}

/// Decodes a response to a chat request as `ai` would.
///
/// ```
/// use agentloop::AgentLoop;
/// use agentloop::inspect::{self, DecodeOptions, HttpResponse};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// let body = r#"{"id":"1","model":"m","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
/// let events = inspect::decode(&AgentLoop::from_env(), &DecodeOptions::new("groq"), HttpResponse::new(body))?;
/// assert_eq!(events.response().await?.text(), "Hi");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Returns the error that the response reports.
pub fn decode(
    ai: &AgentLoop,
    options: &DecodeOptions,
    response: HttpResponse,
) -> Result<ChatStream> {
    let provider = provider(ai, options, &response)?;
    if let Some(error) = response.error(&provider, options.model.as_deref()) {
        return Err(error);
    }
    let content_type = response
        .headers
        .get(http::header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    let reading = Reading::of(content_type, options.stream);
    let emitter =
        Emitter::new(provider.name.clone(), protocol::request_id(&response.headers), Vec::new())
            .reproducibly();
    let target = options.model.as_ref();
    let target = target.map(|model| Arc::new(Target::new(Arc::clone(&provider), model)));
    let context = DecodeContext { provider, target, audio_format: None };
    let body = Body::stream(Pieces(response.pieces.into_iter()));
    let decoder = ChatDecoder::new(context);
    let reply = Reply::new(body, reading, decoder, Box::new(emitter));
    Ok(ChatStream::new(Box::new(reply).with_model(options.model.as_deref())))
}

/// Decodes a response to an embeddings request as `ai` would.
///
/// ```
/// use agentloop::AgentLoop;
/// use agentloop::inspect::{self, DecodeOptions, HttpResponse};
///
/// let body = r#"{"model":"m","data":[{"index":0,"embedding":[0.5]}],"usage":{"prompt_tokens":1,"total_tokens":1}}"#;
/// let response = inspect::decode_embed(&AgentLoop::from_env(), &DecodeOptions::new("openai"), &HttpResponse::new(body))?;
/// assert_eq!(response.embeddings, [[0.5]]);
/// # Ok::<(), agentloop::Error>(())
/// ```
///
/// # Errors
///
/// Returns the error that the response reports, or an error if it cannot be decoded.
pub fn decode_embed(
    ai: &AgentLoop,
    options: &DecodeOptions,
    response: &HttpResponse,
) -> Result<EmbedResponse> {
    let provider = provider(ai, options, response)?;
    if let Some(error) = response.error(&provider, options.model.as_deref()) {
        return Err(error);
    }
    let embedded = codec(provider.protocol).decode_embed(&provider, &response.pieces.concat())?;
    let model = embedded.model.or_else(|| options.model.clone()).unwrap_or_default();
    let mut decoded = EmbedResponse::new(model, provider.name.as_ref(), embedded.vectors);
    decoded.usage = embedded.usage;
    let (cost, invalid) = embedded.cost.split();
    decoded.cost = cost;
    decoded.warnings.extend(invalid);
    decoded.request_id = protocol::request_id(&response.headers);
    Ok(decoded)
}

/// Returns the provider of the options, with the rules of the protocol that the response is written in.
fn provider(
    ai: &AgentLoop,
    options: &DecodeOptions,
    response: &HttpResponse,
) -> Result<Arc<Provider>> {
    let provider = ai.inner().registry.provider(&options.provider)?;
    let seen = || {
        let one = provider.endpoints.is_empty();
        let seen = if one { None } else { protocol::protocol_of(&response.pieces.concat()) };
        seen.filter(|seen| provider.protocols().any(|spoken| spoken == *seen))
    };
    Ok(match options.protocol.or_else(seen) {
        Some(protocol) => Arc::new(provider.speaking(protocol).into_owned()),
        None => provider,
    })
}

struct Pieces(std::vec::IntoIter<Bytes>);

impl futures_core::Stream for Pieces {
    type Item = Result<Bytes>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.next().map(Ok))
    }
}
