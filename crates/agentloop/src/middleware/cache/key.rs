//! Computes the key of a request: everything that shapes the response, and nothing else.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::canonical::Canonical;
use crate::chat::{ChatRequest, EmbedRequest};
use crate::error::{Error, ErrorKind, Result};
use crate::middleware::{Next, Request};
use crate::provider::Target;
use crate::provider::{AUTH_HEADERS, Provider};
use crate::secret::Secret;

/// The version of the key. It changes when equal requests get other keys than before.
const VERSION: &str = "agentloop cache key 1";

/// The fields of a request that do not shape the response, or are in the key in another form.
pub(super) const NOT_IN_THE_KEY: [&str; 9] = [
    "model",
    "protocol",
    "stream",
    "stream_options",
    "cache",
    "extra_headers",
    "tags",
    "fallbacks",
    "include_raw",
];

/// Headers that identify a call and do not shape its response.
pub(super) const NAMES_OF_CALLS: [&str; 9] = [
    "baggage",
    "idempotency-key",
    "traceparent",
    "tracestate",
    "user-agent",
    "x-client-request-id",
    "x-correlation-id",
    "x-idempotency-key",
    "x-request-id",
];

/// The key of a stored response. It has 256 bits, and two requests share it only if they send the same content to the
/// same model. The request cannot be recovered from it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// Creates a key from a digest, for programs that compute the keys of what they store themselves.
    ///
    /// ```
    /// use agentloop::middleware::CacheKey;
    ///
    /// assert_eq!(CacheKey::new([7; 32]).as_bytes(), &[7; 32]);
    /// ```
    pub fn new(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// Returns the bytes of the key.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Writes the key as 64 hexadecimal digits.
impl fmt::Display for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CacheKey({self})")
    }
}

/// Where a request is sent.
pub(super) struct Route<'a> {
    pub(super) namespace: &'a str,
    pub(super) provider: &'a Provider,
    pub(super) model: &'a str,
    pub(super) base_url: &'a str,
    /// The key that a derived client or the request sets. Responses are not shared between such keys, because a key can give
    /// access to files, models and prompts of its owner.
    pub(super) key: Option<&'a Secret>,
}

/// Returns the key of a request and the model that it is sent to. Fails if the model does not resolve; the call itself then reports
/// why.
pub(super) fn of(
    namespace: &str,
    next: &Next,
    request: &Request,
) -> Result<(CacheKey, Arc<Target>)> {
    let target = next.target(request.model())?;
    let spoken = match request.chat() {
        Some(chat) => Provider::protocol_for(&target, chat),
        None => target.provider.protocol,
    };
    let provider = next.speaking(&target.provider, spoken);
    let name = provider.name.as_ref();
    let access = request.access();
    let base_url = match access.and_then(|access| access.base_url(name)) {
        Some(url) => Cow::Borrowed(url),
        None => Cow::Owned(next.base_url(&provider)?),
    };
    let key = access.and_then(|access| access.key(name)).or_else(|| next.own_key(name));
    let model = &target.model;
    let route = Route { namespace, provider: &provider, model, base_url: &base_url, key };
    let key = match request {
        Request::Chat(request) | Request::Stream(request) => route.chat(request),
        Request::Embed(request) => route.embed(request),
        Request::Task(_) | Request::TaskStream(_) => {
            Err(Error::new(ErrorKind::Unsupported, "responses of this modality are not cached"))
        }
    }?;
    Ok((key, target))
}

impl Route<'_> {
    pub(super) fn chat(&self, request: &ChatRequest) -> Result<CacheKey> {
        // Every field is named here, so that a new one cannot be forgotten. All fields of the JSON are in the key, except for
        // `NOT_IN_THE_KEY`.
        let ChatRequest {
            model: _, // as it was resolved
            messages: _,
            temperature: _,
            top_p: _,
            top_k: _,
            max_tokens: _,
            stop: _,
            seed: _,
            n: _,
            frequency_penalty: _,
            presence_penalty: _,
            tools: _,
            tool_choice: _,
            parallel_tool_calls: _,
            response_format: _,
            modalities: _,
            audio: _,
            image: _,
            verbosity: _,
            reasoning_effort: _,
            thinking: _,
            logprobs: _,
            top_logprobs: _,
            logit_bias: _,
            stream: _,         // complete or streamed, the response is the same
            stream_options: _, // as above
            service_tier: _,
            prompt_cache_key: _,
            user_id: _,  // the response of one user is not shown to another
            metadata: _, // nor that of one label under another
            extra_body: _,
            provider_options: _,
            extra_headers, // by name, whatever its case
            tags: _,       // for the cost ledger
            fallbacks: _,  // only a response of the requested model is stored
            media: _,      // how media are downloaded
            lenient: _,
            strict: _,
            output_strategy: _,
            protocol: _,    // as it was resolved
            cache: _,       // how the cache is used
            include_raw: _, // a cached response has no raw one
            timeouts: _,    // how long to wait for the response
            access: _,      // in the route
        } = request;
        self.digest("chat", request, extra_headers)
    }

    pub(super) fn embed(&self, request: &EmbedRequest) -> Result<CacheKey> {
        let EmbedRequest {
            model: _,
            input: _,
            dimensions: _,
            input_type: _,
            user_id: _,
            extra_body: _,
            extra_headers,
            tags: _,
            fallbacks: _,
            cache: _,
            include_raw: _,
            concurrency: _, // how the texts are sent
            timeouts: _,
            access: _, // in the route
        } = request;
        self.digest("embed", request, extra_headers)
    }

    fn digest(
        &self,
        kind: &str,
        request: &impl Serialize,
        extra_headers: &BTreeMap<String, String>,
    ) -> Result<CacheKey> {
        let mut request = serde_json::to_value(request).map_err(|error| {
            Error::new(ErrorKind::Other, "the request cannot be written as JSON").with_source(error)
        })?;
        if let Value::Object(fields) = &mut request {
            fields.retain(|name, _| !NOT_IN_THE_KEY.contains(&name.as_str()));
            // One text is the same as a list of one.
            if let Some(input) = fields.get_mut("input").filter(|input| input.is_string()) {
                *input = Value::Array(vec![input.take()]);
            }
        }
        let mut canonical = Canonical::new();
        for text in [VERSION, self.namespace, kind, self.model, self.base_url] {
            canonical.text(text);
        }
        self.row(&mut canonical);
        headers(&mut canonical, extra_headers.iter().map(|(name, value)| (&**name, &**value)));
        canonical.value(&request);
        if let Some(key) = self.key {
            canonical.text("key");
            canonical.text(key.expose());
        }
        Ok(CacheKey(canonical.finish()))
    }

    /// Adds the settings of the provider that shape a request. Two clients that share a store may have different ones under the same name.
    fn row(&self, canonical: &mut Canonical) {
        let Provider {
            name,
            base_url: _, // as it was resolved
            hosts: _,
            protocol,
            endpoints: _, // as it was resolved
            auth: _,
            key: _,
            credential: _,
            key_url: _,
            headers: row_headers,
            env_headers,
            rules,
            allow,
            quirks,
            models: _,       // by the requested model, below
            restrictions: _, // as above
            catalog: _,      // as above
            serves: _,
            makes: _,
            telemetry_name: _,
            transport: _,
        } = self.provider;
        canonical.text(name);
        canonical.text(protocol.name());
        let row_headers = row_headers.iter().chain(env_headers);
        headers(canonical, row_headers.map(|(name, value)| (&**name, &**value)));
        let traits = self.provider.model_traits(self.model);
        canonical.text(&format!("{rules:?} {allow:?} {quirks:?} {traits:?}"));
        let visited = self.provider.each_restriction(self.model, |row| {
            if row.is_about(self.model) {
                canonical.text(&format!("{:?} {:?}", row.when, row.then));
            }
            Ok(())
        });
        debug_assert!(visited.is_ok(), "nothing in it fails");
    }
}

fn headers<'a>(canonical: &mut Canonical, headers: impl Iterator<Item = (&'a str, &'a str)>) {
    let shaping: Vec<(String, &str)> = headers
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .filter(|(name, _)| {
            !AUTH_HEADERS.contains(&name.as_str()) && !NAMES_OF_CALLS.contains(&name.as_str())
        })
        .collect();
    canonical.list(&shaping, |canonical, (name, value)| {
        canonical.text(name);
        canonical.text(value);
    });
}
