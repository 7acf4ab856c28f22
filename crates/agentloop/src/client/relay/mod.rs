//! Sends a request that is already in the protocol of its provider, and returns the response as it is.

mod body;
mod edge;
mod once;
mod rate_limits;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap};
use http::{Response as HttpResponse, StatusCode};
use serde_json::{Map, Value};
use tokio::time::Instant;

pub use body::{RelayBody, RelayReport};
pub(super) use once::is_sent_once;
pub use once::sent_once;
pub(super) use rate_limits::note;
pub use rate_limits::with_rate_limits;

use super::authorize::Outgoing;
use super::limit::Limit;
use super::{AgentLoop, Inner, Reading, Reply, encode};
use crate::chat::{ChatRequest, EmbedRequest, ExtraHeaders, Protocol, Warning};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{ERROR_BODY_WAIT, MAX_BODY_BYTES, MAX_ERROR_BODY_BYTES};
use crate::models::ModelData;
use crate::protocol::serve::Operation;
use crate::protocol::{
    self, Call, ChatDecoder, DecodeContext, Emitter, Encoded, OutputForm, ToolNames, codec, params,
};
use crate::provider::{Provider, RelayShape, Target};
use crate::timeouts::Timeouts;
use crate::transport::{Body, SendOptions};

/// A request in the protocol of its provider.
///
/// ```
/// use agentloop::protocol::serve::Operation;
/// use agentloop::relay::RelayRequest;
/// use agentloop::Protocol;
///
/// let body = r#"{"model":"gpt-5","messages":[]}"#;
/// let request = RelayRequest::new("openai/gpt-5", Protocol::OpenAiChat, Operation::Chat, body);
/// assert!(!request.stream);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RelayRequest {
    /// The model, as `provider/model` or an alias.
    pub model: String,
    /// The protocol of the body. The provider must speak it.
    pub protocol: Protocol,
    /// What is called.
    pub operation: Operation,
    /// Whether the response is streamed.
    pub stream: bool,
    /// What follows the last colon of a Gemini path, in place of the operation's own method: `embedContent`,
    /// `streamGenerateContent?alt=sse`.
    pub method: Option<String>,
    /// The query, for protocols whose path has none.
    pub query: Option<String>,
    /// Headers that are added to those of the provider, and replace them. A key among them is ignored.
    pub headers: HeaderMap,
    /// The body, with the provider's name of the model.
    pub body: Bytes,
    /// The timeouts, in place of the client's.
    pub timeouts: Option<Timeouts>,
}

impl RelayRequest {
    /// Creates a request that is not streamed.
    pub fn new(
        model: impl Into<String>,
        protocol: Protocol,
        operation: Operation,
        body: impl Into<Bytes>,
    ) -> Self {
        Self {
            model: model.into(),
            protocol,
            operation,
            stream: false,
            method: None,
            query: None,
            headers: HeaderMap::new(),
            body: body.into(),
            timeouts: None,
        }
    }
}

/// The response to a relayed request.
#[derive(Debug)]
#[non_exhaustive]
pub struct Relayed {
    /// The status.
    pub status: StatusCode,
    /// The headers, as the provider sent them.
    pub headers: HeaderMap,
    /// What the provider's rules changed in the request.
    pub warnings: Vec<Warning>,
    /// The body.
    pub body: RelayBody,
}

/// Why a relayed request failed before the first content of its response.
#[derive(Debug)]
#[non_exhaustive]
pub struct RelayError {
    /// The error.
    pub error: Error,
    /// The headers and the body of the provider's response, if there was one whose status reports an error. Keys of the
    /// request that they repeat are replaced.
    pub response: Option<Box<(HeaderMap, Bytes)>>,
}

impl From<Error> for RelayError {
    fn from(error: Error) -> Self {
        Self { error, response: None }
    }
}

impl AgentLoop {
    /// Sends a request that is in the protocol of its provider already, and returns the response byte for byte.
    ///
    /// Returns when the first content of a stream has arrived, or all of a complete response, so an error before that fails
    /// the call. A decoder reads a copy, so [`RelayBody::report`] has the usage and the end of the stream. The rules of the
    /// provider are applied to the body; middleware is not called.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), agentloop::relay::RelayError> {
    /// use agentloop::protocol::serve::Operation;
    /// use agentloop::relay::RelayRequest;
    /// use agentloop::{AgentLoop, ChatRequest, Protocol};
    ///
    /// let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// assert!(ai.resolve("sim/echo")?.relays(Protocol::OpenAiChat));
    /// assert_eq!(ai.protocol_for(&ChatRequest::new("sim/echo"))?, Protocol::OpenAiChat);
    /// let body = r#"{"model":"echo","messages":[{"role":"user","content":"Hi"}]}"#;
    /// let request = RelayRequest::new("sim/echo", Protocol::OpenAiChat, Operation::Chat, body);
    /// let mut response = ai.relay(request).await?;
    /// assert!(response.body.take_whole().is_some_and(|bytes| bytes.starts_with(b"{")));
    /// assert!(response.body.report().usage.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the provider does not speak the protocol, cannot be reached, or reports an error before the first content.
    pub fn relay(
        &self,
        request: RelayRequest,
    ) -> impl Future<Output = std::result::Result<Relayed, RelayError>> + Send + use<'_> {
        // Not an `async fn`, whose future would hold the request beside the box.
        Box::pin(self.inner().relay(request))
    }

    /// Returns the provider and the model that a model name stands for, as the client keeps them.
    ///
    /// # Errors
    ///
    /// Fails if the name cannot be resolved.
    pub fn target(&self, model: &str) -> Result<Arc<Target>> {
        self.inner().registry.resolve(model)
    }

    /// Returns the data of a target's model, if its prices are known.
    pub fn priced(&self, target: &Target) -> Option<Arc<ModelData>> {
        self.inner().priced(target)
    }

    /// Returns the protocol in which a request is sent.
    ///
    /// # Errors
    ///
    /// Fails if the name of the model cannot be resolved.
    pub fn protocol_for(&self, request: &ChatRequest) -> Result<Protocol> {
        let target = self.inner().registry.resolve(&request.model)?;
        Ok(Provider::protocol_for(&target, request))
    }
}

impl Inner {
    async fn relay(&self, request: RelayRequest) -> std::result::Result<Relayed, RelayError> {
        let timeouts = request.timeouts.unwrap_or(self.timeouts);
        let began = Instant::now();
        let limit = match (timeouts.first_content, timeouts.total) {
            (Some(first), Some(total)) if first >= total => {
                Limit::since("the complete response", Some(total), began)
            }
            (None, total) => Limit::since("the complete response", total, began),
            (first, _) if request.stream => Limit::since("the first content", first, began),
            (first, _) => Limit::since("the response", first, began),
        };
        let (stream, operation) = (request.stream, request.operation);
        let target = self.relay_target(&request)?;
        let (mut outgoing, warnings) = self.prepare_relay(&target, request)?;
        let secrets = outgoing.take_secrets();
        let named = |error: Error| {
            let error = error.with_provider(target.provider.name.as_ref());
            secrets.hide(error.with_model(&target.model))
        };
        let mut options = SendOptions::default();
        (options.connect_timeout, options.once) = (timeouts.connect, is_sent_once());
        let sending = self.transmit(&target.provider, outgoing, options);
        let failed = Mutex::new(None);
        let opened = std::pin::pin!(async {
            let response = sending.await?;
            if !response.status().is_success() {
                let wait = timeouts.idle.unwrap_or(ERROR_BODY_WAIT).min(ERROR_BODY_WAIT);
                let (error, found) = Box::pin(read_failure(&target, response, wait)).await;
                *crate::lock::lock(&failed) = Some(found);
                return Err(error);
            }
            let (head, body) = response.into_parts();
            let body = match operation {
                Operation::Chat => {
                    let (reply, tap) = self.relay_reply(&target, &head, stream, body);
                    let mut reply =
                        reply.with_timeouts(&timeouts, began).with_secrets(secrets.clone());
                    reply.read_ahead(!stream).await?;
                    RelayBody::of_reply(reply, tap, stream)
                }
                // In boxes, like that of a failure, so the future of a chat does not have room for them.
                _ => RelayBody::whole(Box::pin(body.collect(MAX_BODY_BYTES)).await?),
            };
            Ok((head, body))
        });
        match limit.within(opened).await {
            Ok((head, body)) => {
                Ok(Relayed { status: head.status, headers: head.headers, warnings, body })
            }
            Err(error) => {
                let mut response = crate::lock::lock(&failed).take();
                if let Some(response) = &mut response {
                    let (headers, body) = &mut **response;
                    secrets.hide_in_response(headers, body);
                }
                Err(RelayError { error: named(error), response })
            }
        }
    }

    /// Returns the provider and the model of a request, in the protocol of the request.
    fn relay_target(&self, request: &RelayRequest) -> Result<Arc<Target>> {
        let target = self.registry.resolve(&request.model)?;
        let provider = target.provider.as_ref();
        if !target.relays(request.protocol) {
            let (name, model, protocol) = (&provider.name, &target.model, request.protocol.name());
            let message = format!("{name} does not serve {model} in {protocol}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(if provider.protocol == request.protocol {
            target
        } else {
            self.registry.target_speaking(&target, request.protocol)
        })
    }

    fn prepare_relay<'a>(
        &'a self,
        target: &'a Target,
        request: RelayRequest,
    ) -> Result<(Outgoing<'a>, Vec<Warning>)> {
        let named = |error: Error| error.with_provider(target.provider.name.as_ref());
        let mut encoded = encode_shape(target, &request).map_err(named)?;
        if let (Some(method), Some((path, _))) = (&request.method, encoded.path.rsplit_once(':')) {
            encoded.path = format!("{path}:{method}").into();
        }
        if let Some(query) = &request.query {
            encoded.path = format!("{}?{query}", encoded.path).into();
        }
        let (body, warnings) = apply_rules(target, request.body)?;
        let call = match request.operation {
            Operation::Count => Call::Count,
            _ if request.stream => Call::Stream,
            _ => Call::Chat,
        };
        encoded.body = codec(target.provider.protocol).adapt_relayed(&target.provider, call, body);
        encoded.warnings = warnings;
        let auth = target.provider.auth.header_name();
        for (name, value) in &request.headers {
            if Some(name) != auth.as_ref() {
                encoded.headers.insert(name.clone(), value.clone());
            }
        }
        let extra_headers = ExtraHeaders::default();
        self.http_request(target, encoded, None, &extra_headers).map_err(named)
    }

    fn relay_reply(
        &self,
        target: &Arc<Target>,
        head: &http::response::Parts,
        stream: bool,
        body: Body,
    ) -> (Box<Reply>, Option<edge::Tap>) {
        let content_type =
            head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let reading = Reading::of(content_type, stream);
        // A body that is decoded at its end is kept until then anyway.
        let is_kept = !stream && matches!(reading, Reading::Whole(_));
        let tap = (!is_kept).then(|| edge::Tap::new(matches!(reading, Reading::Stream(_))));
        let body = match &tap {
            Some(tap) => tap.wrap(body),
            None => body,
        };
        let context = DecodeContext {
            provider: Arc::clone(&target.provider),
            target: Some(Arc::clone(target)),
            audio_format: None,
        };
        let emitter = Box::new(Emitter::new(target.provider.name.clone(), None, Vec::new()))
            .with_room(self.room.clone())
            .quietly(!stream)
            .with_pricing(self.pricing(target, None, None))
            .with_form(OutputForm::default())
            .with_request_id(protocol::request_id(&head.headers));
        let model = stream.then_some(target.model.as_str());
        let reply = Reply::new(body, reading, ChatDecoder::new(context), emitter);
        (Box::new(reply).with_model(model).with_long_work(self.long_work), tap)
    }
}

/// Returns the path and the headers of a request: those of a small request of the same kind, which is encoded once for all chats of a
/// target.
fn encode_shape(target: &Target, request: &RelayRequest) -> Result<Encoded> {
    let call = match request.operation {
        Operation::Chat => {
            let known = target.relay_shape(request.stream, || {
                let call = if request.stream { Call::Stream } else { Call::Chat };
                let Encoded { method, path, headers, .. } = encode_small(call, target)?;
                Ok(RelayShape { method, path, headers })
            })?;
            let RelayShape { method, path, headers } = known;
            let (body, warnings, names) = (Bytes::new(), Vec::new(), ToolNames::default());
            return Ok(Encoded { method, path, headers, body, warnings, names });
        }
        Operation::Count => Call::Count,
        Operation::Embed => {
            let codec = codec(target.provider.protocol);
            let shape = EmbedRequest::new(target.model.as_str(), ["-"]);
            return codec.encode_embed(&target.provider, &target.model, &shape, &["-".to_owned()]);
        }
        _ => Call::Chat,
    };
    encode_small(call, target)
}

fn encode_small(call: Call, target: &Target) -> Result<Encoded> {
    let shape = ChatRequest::new(target.model.as_str()).user("-");
    Ok(encode::encode_chat(call, target, &shape)?.0)
}

/// Applies the provider's rules. A body of a provider without rules stays as it is.
fn apply_rules(target: &Target, body: Bytes) -> Result<(Bytes, Vec<Warning>)> {
    if !params::has_rules(&target.provider) {
        return Ok((body, Vec::new()));
    }
    let mut fields: Map<String, Value> = match serde_json::from_slice(&body) {
        Ok(fields) => fields,
        // The provider reports what is wrong with it.
        Err(_) => return Ok((body, Vec::new())),
    };
    let (warnings, is_changed) = params::apply_to_body(&target.provider, &mut fields);
    if is_changed {
        Ok((Bytes::from(Value::Object(fields).to_string()), warnings))
    } else {
        Ok((body, warnings))
    }
}

/// Reads a response whose status reports an error.
async fn read_failure(
    target: &Target,
    response: HttpResponse<Body>,
    wait: std::time::Duration,
) -> (Error, Box<(HeaderMap, Bytes)>) {
    let (head, body) = response.into_parts();
    let body = body.head(MAX_ERROR_BODY_BYTES, Instant::now() + wait).await;
    let provider = &target.provider;
    let status = head.status.as_u16();
    let error = codec(provider.protocol).decode_error(&provider.name, status, &head.headers, &body);
    (error, Box::new((head.headers, body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chat_of_a_target_is_relayed_to_the_same_path_with_the_same_headers() {
        for provider in [
            Provider::openai_compatible("lab", "http://lab.invalid"),
            Provider::responses_compatible("lab", "http://lab.invalid"),
            Provider::anthropic_compatible("lab", "http://lab.invalid"),
            Provider::gemini_compatible("lab", "http://lab.invalid"),
        ] {
            let target = Target::new(Arc::new(provider), "m");
            for (stream, call) in [(false, Call::Chat), (true, Call::Stream), (false, Call::Chat)] {
                let protocol = target.provider.protocol;
                let mut request = RelayRequest::new("lab/m", protocol, Operation::Chat, "{}");
                request.stream = stream;
                let expected = encode_small(call, &target).unwrap();
                for _ in 0..2 {
                    let shape = encode_shape(&target, &request).unwrap();
                    assert_eq!((&shape.method, &shape.path), (&expected.method, &expected.path));
                    assert_eq!(shape.headers, expected.headers);
                }
            }
        }
    }
}
