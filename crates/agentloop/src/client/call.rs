//! The innermost service: encodes a request, sends it and reads the response.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, Request as HttpRequest, Response as HttpResponse, Uri};
use tokio::time::Instant;

use super::authorize::Outgoing;
use super::limit::{Limit, shorter};
use super::secrets::RequestSecrets;
use super::{Inner, Reading, Reply, encode, prepare_embed};
use crate::chat::{
    Access, ChatRequest, EmbedRequest, ExtraHeaders, Protocol, RawParts, Warning, WarningKind,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{ERROR_BODY_WAIT, MAX_BODY_BYTES, MAX_ERROR_BODY_BYTES};
use crate::middleware::{Dispatch, Middleware, Request, Response};
use crate::models::{ModelData, Pricing};
use crate::protocol::{
    self, Call, ChatDecoder, DecodeContext, Emitter, Encoded, OutputForm, codec,
};
use crate::provider::{Feature, Provider, Registry, Target};
use crate::secret::Secret;
use crate::stream::ChatStream;
use crate::timeouts::Timeouts;
use crate::transport::{Body, BoxFuture, SendOptions};

/// Resolves and encodes a chat, without sending it.
pub(crate) fn prepare_chat(
    registry: &Registry,
    request: &ChatRequest,
    stream: bool,
) -> Result<(Target, Encoded, OutputForm)> {
    let target = resolve(registry, request, None)?;
    let (encoded, form) = encode_chat(&target, request, stream)?;
    Ok((Arc::unwrap_or_clone(target), encoded, form))
}

/// Returns the provider and the model of a request, in the protocol that the request uses. `known` is what its model
/// resolves to, if that is known.
pub(super) fn resolve(
    registry: &Registry,
    request: &ChatRequest,
    known: Option<Arc<Target>>,
) -> Result<Arc<Target>> {
    let target = match known {
        Some(known) => known,
        None => registry.resolve(&request.model)?,
    };
    let protocol = Provider::protocol_for(&target, request);
    codec(protocol)
        .check_compiled()
        .map_err(|error| error.with_provider(target.provider.name.as_ref()))?;
    Ok(if protocol == target.provider.protocol {
        target
    } else {
        registry.target_speaking(&target, protocol)
    })
}

fn encode_chat(
    target: &Target,
    request: &ChatRequest,
    stream: bool,
) -> Result<(Encoded, OutputForm)> {
    let provider = &target.provider;
    let call = if stream { Call::Stream } else { Call::Chat };
    encode::encode_chat(call, target, request)
        .map_err(|error| error.with_provider(provider.name.as_ref()))
}

impl Dispatch for Inner {
    fn middleware(&self) -> &[Arc<dyn Middleware>] {
        &self.middleware
    }

    fn dispatch(
        &self,
        request: Request,
        target: Option<Arc<Target>>,
    ) -> BoxFuture<'_, Result<Response>> {
        // Boxed: otherwise the future of every middleware around it would be as large as the call itself.
        Box::pin(self.call_provider(request, target))
    }

    fn resolve(&self, model: &str) -> Result<Arc<Target>> {
        self.registry.resolve(model)
    }

    fn speaking(&self, provider: &Arc<Provider>, protocol: Protocol) -> Arc<Provider> {
        self.registry.speaking(provider, protocol)
    }

    fn base_url(&self, provider: &Provider) -> Result<String> {
        Ok(self.registry.base_url(provider)?.into_owned())
    }

    fn own_key(&self, provider: &str) -> Option<&Secret> {
        self.keys.get(provider)
    }

    fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    fn embed_calls(&self, request: &EmbedRequest) -> usize {
        // An invalid request fails later, when it is sent.
        prepare_embed(&self.registry, request).map_or(1, |(_, batches)| batches.len())
    }
}

impl Inner {
    /// Sends a request to its provider. `target` is what the request's model resolves to, if that is known.
    pub(crate) async fn call_provider(
        &self,
        request: Request,
        target: Option<Arc<Target>>,
    ) -> Result<Response> {
        let (request, stream) = match request {
            Request::Chat(request) => (request, false),
            Request::Stream(request) => (request, true),
            Request::Embed(request) => {
                // Boxed, so a chat does not make room for it (`tests/it/shortcuts.rs` bounds the size of a call).
                let response = Box::pin(self.embed(&request)).await?;
                return Ok(Response::Embedding(Box::new(response)));
            }
            Request::Task(task) => {
                let response = Box::pin(self.task(&task, target)).await?;
                return Ok(Response::Task(Box::new(response)));
            }
            Request::TaskStream(task) => {
                return Box::pin(self.task_stream(&task, target)).await.map(Response::TaskStream);
            }
        };
        self.chat(&request, stream, target).await.map(Response::Events)
    }

    /// Sends a chat request past the middleware and returns the response as a stream.
    pub(crate) async fn stream(&self, request: &ChatRequest) -> Result<ChatStream> {
        self.chat(request, true, None).await
    }

    async fn chat(
        &self,
        request: &ChatRequest,
        stream: bool,
        target: Option<Arc<Target>>,
    ) -> Result<ChatStream> {
        let reply = self.open_reply(request, stream, target).await?;
        Ok(if stream {
            ChatStream::boxed(Box::into_pin(reply))
        } else {
            ChatStream::whole(reply.into_events())
        })
    }

    /// Sends the request and reads the response up to its first content event, or to its end if it is not streamed.
    pub(super) async fn open_reply(
        &self,
        request: &ChatRequest,
        stream: bool,
        target: Option<Arc<Target>>,
    ) -> Result<Box<Reply>> {
        let target = resolve(&self.registry, request, target)?;
        let timeouts = request.timeouts.unwrap_or(self.timeouts);
        let began = Instant::now();
        // Boxed, so a call without media does not reserve space for it.
        let fetched = if self.fetcher.is_off(request) {
            None
        } else {
            Some(Box::pin(self.fetch_media(request, &target.provider, &timeouts)).await?)
        };
        let has_fetched = fetched.is_some();
        let (request, fetched) = match &fetched {
            None => (request, Vec::new()),
            Some(fetched) => (fetched.0.as_ref(), fetched.1.clone()),
        };
        let named = |error: Error| {
            error.with_provider(target.provider.name.as_ref()).with_model(&target.model)
        };
        let left = timeouts.total.map(|total| total.saturating_sub(began.elapsed()));
        let complete = || Limit::since("the complete response", timeouts.total, began);
        let starts = if has_fetched { Instant::now() } else { began };
        let limit = match (timeouts.first_content, left) {
            (Some(first), Some(left)) if first >= left => complete(),
            (None, _) => complete(),
            (first, _) if stream => Limit::since("the first content", first, starts),
            (first, _) => Limit::since("the response", first, starts),
        };
        let (response, emitter, secrets) =
            self.send_chat(&target, request, stream, fetched, &timeouts, limit.deadline())?;
        // Pinned in place, because every move would add a copy of it to the future of the call.
        let first = std::pin::pin!(async {
            let response = response.await.map_err(|error| secrets.hide(error))?;
            let raw = request.include_raw.then(|| raw_parts(&response, &secrets));
            let emitter = emitter.with_raw(raw);
            let reply = self.reply(&target, request, response, stream, emitter);
            let mut reply = reply.with_timeouts(&timeouts, began).with_secrets(secrets);
            reply.read_ahead(!stream).await?;
            Ok(reply)
        });
        limit.within(first).await.map_err(named)
    }

    /// Encodes a chat request, passes it to the transport, and creates the emitter for its response. Not `async`: the
    /// future of an `async` function would keep the values that only the encoding needs until the response arrives.
    fn send_chat<'a>(
        &'a self,
        target: &'a Target,
        request: &ChatRequest,
        stream: bool,
        fetched: Vec<Warning>,
        timeouts: &Timeouts,
        deadline: Instant,
    ) -> Result<(
        impl Future<Output = Result<HttpResponse<Body>>> + Send + use<'a>,
        Box<Emitter>,
        RequestSecrets,
    )> {
        let provider = target.provider.as_ref();
        let (mut encoded, form) = encode_chat(target, request, stream)?;
        encode::prepend(&mut encoded.warnings, fetched);
        let names = std::mem::take(&mut encoded.names);
        let (mut outgoing, mut warnings) = self
            .http_request(target, encoded, request.access.as_deref(), &request.extra_headers)
            .map_err(|error| {
                error.with_provider(provider.name.as_ref()).with_model(&target.model)
            })?;
        warnings.extend(warn_unused_fallbacks(&request.fallbacks));
        // Boxed where it is created: it is large, and would be copied at every step on its way into the reply. A
        // complete response needs no events if no middleware reads them.
        let needs_events = || self.middleware.iter().any(|each| each.needs_events());
        let emitter = Box::new(Emitter::new(provider.name.clone(), None, warnings))
            .with_room(self.room.clone())
            .quietly(!stream && !needs_events())
            .with_names(names)
            .with_pricing(self.pricing(
                target,
                request.access.as_deref(),
                provider.service_tier(request),
            ))
            .with_form(form);
        let secrets = outgoing.take_secrets();
        Ok((self.send(provider, outgoing, timeouts, deadline), emitter, secrets))
    }

    /// Returns the prices that apply to a call. They may depend on where it is sent, which `access` may decide.
    #[inline]
    pub(super) fn pricing(
        &self,
        target: &Target,
        access: Option<&Access>,
        tier: Option<&str>,
    ) -> Pricing {
        let model = match access.and_then(|access| access.base_url(&target.provider.name)) {
            Some(url) => {
                let region = target.price_region(|| Some(url.into()));
                target.priced_in(&self.prices, region.as_deref())
            }
            None => self.priced(target),
        };
        Pricing { model, tier: tier.map(str::to_owned), when: None, is_certain: false }
    }

    /// Returns the model of a target, if its prices are known.
    pub(super) fn priced(&self, target: &Target) -> Option<Arc<ModelData>> {
        target.priced(&self.prices, || Some(self.registry.target_base_url(target).ok()?.into()))
    }

    /// Downloads the media that the provider cannot fetch itself, and returns the request with their bytes.
    async fn fetch_media<'r>(
        &self,
        request: &'r ChatRequest,
        provider: &Provider,
        timeouts: &Timeouts,
    ) -> Result<Box<(Cow<'r, ChatRequest>, Vec<Warning>)>> {
        let fetching = self.fetcher.fetch(request, provider);
        Limit::new("the media", timeouts.total).within(fetching).await.map(Box::new)
    }

    fn reply(
        &self,
        target: &Arc<Target>,
        request: &ChatRequest,
        response: HttpResponse<Body>,
        stream: bool,
        emitter: Box<Emitter>,
    ) -> Box<Reply> {
        let provider = &target.provider;
        let (head, body) = response.into_parts();
        let content_type =
            head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let reading = Reading::of(content_type, stream);
        let context = DecodeContext {
            provider: Arc::clone(provider),
            target: Some(Arc::clone(target)),
            audio_format: provider.audio_format(request).map(str::to_owned),
        };
        let emitter = emitter.with_request_id(protocol::request_id(&head.headers));
        target.headers().recycle(head.headers);
        let decoder = ChatDecoder::new(context);
        // An error before the first content gets the name of the model from `open_reply`.
        let model = stream.then_some(target.model.as_str());
        Box::new(Reply::new(body, reading, decoder, emitter))
            .with_model(model)
            .with_long_work(self.long_work)
    }

    pub(crate) async fn count_tokens(&self, request: &ChatRequest) -> Result<u64> {
        let target = resolve(&self.registry, request, None)?;
        let provider = &target.provider;
        let named =
            |error: Error| error.with_provider(provider.name.as_ref()).with_model(&target.model);
        let (request, _) = self.fetcher.fetch(request, provider).await?;
        let request = request.as_ref();
        if !provider.supports(Feature::TokenCount) {
            let message = format!("{} has no API that counts tokens", provider.name);
            return Err(named(Error::new(ErrorKind::Unsupported, message)));
        }
        let (mut outgoing, _) = encode::encode_chat(Call::Count, &target, request)
            .and_then(|(encoded, _)| {
                let access = request.access.as_deref();
                self.http_request(&target, encoded, access, &request.extra_headers)
            })
            .map_err(named)?;
        let secrets = outgoing.take_secrets();
        let named = |error: Error| named(secrets.hide(error));
        let timeouts = request.timeouts.unwrap_or(self.timeouts);
        let limit = Limit::new("the token count", shorter(timeouts.first_content, timeouts.total));
        let counting = async {
            let response = self.send(provider, outgoing, &timeouts, limit.deadline()).await?;
            response.into_body().collect(MAX_BODY_BYTES).await
        };
        let body = limit.within(counting).await.map_err(named)?;
        codec(provider.protocol.facts().counted_in).decode_count(provider, &body).map_err(named)
    }

    /// Creates the HTTP request: adds the URL and the key to an encoded request. `extra_headers` are the headers that the
    /// caller adds.
    pub(super) fn http_request<'a>(
        &'a self,
        target: &'a Target,
        encoded: Encoded,
        access: Option<&Access>,
        extra_headers: &ExtraHeaders,
    ) -> Result<(Outgoing<'a>, Vec<Warning>)> {
        let route = self.route(target, access)?;
        let Encoded { method, path, headers, body, mut warnings, names: _ } = encoded;
        let mut request = HttpRequest::new(body);
        let (uri, is_readable) = self.registry.url(route.base_url, &path)?;
        *request.uri_mut() = uri;
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        if route.is_foreign {
            remove_secret_headers(request.headers_mut(), extra_headers);
        } else {
            self.registry.add_env_headers(&target.provider, request.headers_mut())?;
        }
        warnings.extend(route.warning);
        if let Some(name) = target.provider.auth.header_name()
            && let Some(key) = route.key
        {
            let value = if route.is_own_key {
                target.key_header(&key)?
            } else {
                target.provider.auth.header_value(&key)?
            };
            request.headers_mut().insert(name, value);
            warnings.extend(is_readable.then(|| warn_unencrypted(request.uri())));
        }
        let credential =
            if route.uses_credential { self.registry.credential(&target.provider) } else { None };
        if credential.is_some() && is_readable {
            warnings.push(warn_unencrypted(request.uri()));
        }
        Ok((Outgoing::new(request, credential), warnings))
    }

    /// Sends the request and returns its response, or the error that its status reports.
    ///
    /// The request is passed to the transport at once, so the future that waits for the response does not hold it.
    /// Reading the body of an error response ends at `deadline`.
    pub(super) fn send<'a>(
        &'a self,
        provider: &'a Provider,
        outgoing: Outgoing<'a>,
        timeouts: &Timeouts,
        deadline: Instant,
    ) -> impl Future<Output = Result<HttpResponse<Body>>> + Send + use<'a> {
        #[cfg(feature = "serve")]
        let once = super::relay::is_sent_once();
        #[cfg(not(feature = "serve"))]
        let once = false;
        let mut options = SendOptions::default();
        (options.connect_timeout, options.once) = (timeouts.connect, once);
        let response = self.transmit(provider, outgoing, options);
        let wait = timeouts.idle.unwrap_or(ERROR_BODY_WAIT).min(ERROR_BODY_WAIT);
        async move {
            let response = response.await?;
            #[cfg(feature = "serve")]
            super::relay::note(response.headers());
            let error = match check_status(provider, response, wait, deadline) {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            Err(error.await)
        }
    }
}

/// Returns the response if its status is a success, else a future that reads its error. The future is boxed, so a call
/// that succeeds does not reserve space for it.
fn check_status(
    provider: &Provider,
    response: HttpResponse<Body>,
    wait: Duration,
    deadline: Instant,
) -> Result<HttpResponse<Body>, BoxFuture<'_, Error>> {
    if response.status().is_success() {
        Ok(response)
    } else {
        Err(Box::pin(read_error(provider, response, deadline.min(Instant::now() + wait))))
    }
}

/// Reads the body of an error response. The status decides the kind of the error, whether or not the body arrives.
async fn read_error(provider: &Provider, response: HttpResponse<Body>, deadline: Instant) -> Error {
    let (head, body) = response.into_parts();
    let body = body.head(MAX_ERROR_BODY_BYTES, deadline).await;
    let status = head.status.as_u16();
    codec(provider.protocol).decode_error(&provider.name, status, &head.headers, &body)
}

/// Removes the headers of the provider that hold secrets. Headers that the caller added stay.
fn remove_secret_headers(headers: &mut HeaderMap, extra_headers: &ExtraHeaders) {
    let is_extra = |name: &HeaderName| {
        extra_headers.keys().any(|extra| extra.eq_ignore_ascii_case(name.as_str()))
    };
    let secret: Vec<HeaderName> = headers
        .iter()
        .filter(|(name, value)| value.is_sensitive() && !is_extra(name))
        .map(|(name, _)| name.clone())
        .collect();
    for name in secret {
        headers.remove(name);
    }
}

/// Starts the record of the raw response.
pub(super) fn raw_parts(response: &HttpResponse<Body>, secrets: &RequestSecrets) -> RawParts {
    let secrets = secrets.echoes().collect();
    RawParts::new(response.status().as_u16(), response.headers(), secrets)
}

/// Returns the warning about a key that goes to another machine without encryption.
fn warn_unencrypted(uri: &Uri) -> Warning {
    let host = uri.host().unwrap_or_default();
    let message = format!("the key is sent to {host} over http, which is not encrypted; use https");
    Warning::new(WarningKind::Insecure, "base_url", message)
}

/// Returns a warning if the request names fallbacks and no middleware handles them.
pub(super) fn warn_unused_fallbacks(models: &[String]) -> Option<Warning> {
    (!models.is_empty()).then(|| {
        let message = "the fallbacks are ignored, because the client has no fallback middleware";
        Warning::new(WarningKind::Dropped, "fallbacks", message)
    })
}
