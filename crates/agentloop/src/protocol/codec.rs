//! The interface that every protocol implements.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use serde_json::Value;

use super::conversation::{Forms, Prepared, Shown, ToolNames};
use super::count;
use super::embed::{self, Embedded};
use super::output::Shaped;
use super::params::Place;
use super::repeat::Repeat;
#[cfg(feature = "serve")]
use super::serve::Serve;
use super::{Emitter, error_body, exceptions, headers};
use crate::chat::{ChatRequest, ContentPart, EmbedRequest, Param, Warning};
use crate::error::{Error, ErrorKind, Result};
use crate::models::ModelInfo;
use crate::provider::model::ModelTraits;
use crate::provider::{Provider, Target};

/// The calls that are made with a chat request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Asks for a complete response.
    Chat,
    /// Asks for a stream.
    Stream,
    /// Asks for the number of tokens of the prompt.
    Count,
}

/// A request that lacks only the base URL and the key.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    pub(crate) method: Method,
    /// What follows the provider's base URL.
    pub(crate) path: Cow<'static, str>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) warnings: Vec<Warning>,
    /// The names under which tools were sent. The response is read with them.
    pub(crate) names: ToolNames,
}

impl Encoded {
    /// Returns a call with a body.
    pub(crate) fn post(
        path: impl Into<Cow<'static, str>>,
        headers: HeaderMap,
        body: Bytes,
        warnings: Vec<Warning>,
        names: ToolNames,
    ) -> Self {
        Self { method: Method::POST, path: path.into(), headers, body, warnings, names }
    }

    /// Returns a call without a body.
    ///
    /// # Errors
    ///
    /// When a header of the provider is invalid.
    pub(crate) fn get(provider: &Provider, path: impl Into<Cow<'static, str>>) -> Result<Self> {
        let mut warnings = Vec::new();
        Ok(Self {
            method: Method::GET,
            path: path.into(),
            headers: headers::build(provider, &BTreeMap::new(), &mut warnings)?,
            body: Bytes::new(),
            warnings,
            names: ToolNames::default(),
        })
    }
}

/// What a decoder needs to know about the request.
#[derive(Clone, Debug)]
pub(crate) struct DecodeContext {
    pub(crate) provider: Arc<Provider>,
    /// The model of the request, of the same provider; `None` when only the bytes of the response are known.
    pub(crate) target: Option<Arc<Target>>,
    /// The requested audio format.
    pub(crate) audio_format: Option<String>,
}

impl DecodeContext {
    /// Returns the model of the request; empty if it is not known.
    pub(crate) fn model(&self) -> &str {
        self.target.as_ref().map_or("", |target| &target.model)
    }
}

/// A page of a list of models.
#[derive(Debug, Default)]
pub(crate) struct ModelPage {
    pub(crate) models: Vec<ModelInfo>,
    /// The query for the next page, if there is one.
    pub(crate) next: Option<String>,
}

/// How a protocol writes requests and reads responses. All methods are pure.
///
/// A codec never branches on the name of a provider: differences between the providers of a protocol are
/// [quirks](crate::provider::quirks).
pub(crate) trait Codec: Sync {
    /// Fails if the protocol is not compiled in.
    fn check_compiled(&self) -> Result<()> {
        Ok(())
    }

    /// Returns the forms of a conversation that `provider` takes for `model`.
    fn forms(&self, _provider: &Provider, _model: &str) -> Forms {
        Forms::default()
    }

    /// Returns where `provider` takes a part of a tool's result.
    fn shows(&self, part: &ContentPart, provider: &Provider) -> Shown;

    /// Writes a call of a request that has its final shape and of its conversation.
    ///
    /// # Errors
    ///
    /// When the protocol has no such call, or when something that the request requires cannot be written.
    fn encode(
        &self,
        call: Call,
        provider: &Provider,
        model: &str,
        shaped: &Shaped<'_>,
        prepared: Prepared<'_>,
    ) -> Result<Encoded>;

    /// Returns where a request has a parameter.
    fn place(&self, provider: &Provider, param: Param) -> Place;

    /// Returns a decoder for the response to a chat call, complete or streamed.
    fn decoder(&self, context: DecodeContext) -> Box<dyn Decode>;

    /// Reads the response to a call that counts tokens.
    fn decode_count(&self, provider: &Provider, body: &[u8]) -> Result<u64> {
        count::input_tokens(provider, body)
    }

    /// Encodes a call that turns some of the texts of the request into vectors.
    ///
    /// # Errors
    ///
    /// When the protocol has no such call.
    fn encode_embed(
        &self,
        _provider: &Provider,
        _model: &str,
        _request: &EmbedRequest,
        _texts: &[String],
    ) -> Result<Encoded> {
        Err(Error::new(ErrorKind::Unsupported, "this protocol has no embeddings"))
    }

    /// Returns the largest number of texts in one call for embeddings, if it is limited.
    fn embed_batch(&self, provider: &Provider, _model: &str) -> Option<usize> {
        provider.quirks.embeddings.batch
    }

    /// Reads vectors in every known form.
    fn decode_embed(&self, provider: &Provider, body: &[u8]) -> Result<Embedded> {
        let error_in = |body: &[u8]| self.decode_error_in_response(&provider.name, body);
        let embedded = embed::decode(provider, body, &error_in)?;
        embed::check_lengths(&embedded.vectors)?;
        Ok(embedded)
    }

    /// Writes a call for a page of the list of models. `next` is the query that the page before it returned.
    fn encode_models(&self, provider: &Provider, next: Option<&str>) -> Result<Encoded>;

    /// Returns the URL of a page of the list of models, if another host of the provider has it than that of `uri`.
    fn models_uri(&self, _uri: &Uri) -> Option<Uri> {
        None
    }

    /// Reads a page of the list of models.
    fn decode_models(&self, provider: &Provider, body: &[u8]) -> Result<ModelPage>;

    /// Reads a response whose status reports that the call failed.
    fn decode_error(&self, provider: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
        exceptions::decode(provider, status, headers, body)
    }

    /// Reads an error inside a response of status 200.
    fn decode_error_in_response(&self, provider: &str, body: &[u8]) -> Error {
        exceptions::in_body(provider, body)
    }

    /// Returns the server's side of the protocol.
    #[cfg(feature = "serve")]
    fn server(&self) -> &'static dyn Serve;

    /// Changes the body of a request that is already in the protocol to the form in which `provider` takes it.
    #[cfg(feature = "serve")]
    fn adapt_relayed(&self, _provider: &Provider, _call: Call, body: Bytes) -> Bytes {
        body
    }

    /// Returns whether a JSON schema may describe a list or a single value.
    fn takes_any_root(&self) -> bool {
        false
    }

    /// Returns whether a JSON schema has a description beside it.
    fn describes_schemas(&self) -> bool {
        false
    }

    /// Returns whether JSON can be requested without a schema.
    fn has_json_mode(&self) -> bool {
        true
    }

    /// Returns whether the model can be made to call a tool, as far as the protocol decides it.
    fn can_force_tools(&self, _request: &ChatRequest, _traits: &ModelTraits) -> bool {
        true
    }

    /// Returns whether a field switches thinking on and off, apart from the effort.
    fn has_thinking_switch(&self, _provider: &Provider) -> bool {
        true
    }
}

/// Implements methods of [`Codec`] with the functions that every folder has in the files of the same names.
macro_rules! delegate {
    ($($method:ident),+ $(,)?) => {
        $($crate::protocol::codec::delegate!(@ $method);)+
    };
    (@ shows) => {
        fn shows(
            &self,
            part: &$crate::chat::ContentPart,
            provider: &$crate::provider::Provider,
        ) -> $crate::protocol::Shown {
            parts::shown(part, provider)
        }
    };
    (@ encode) => {
        fn encode(
            &self,
            call: $crate::protocol::Call,
            provider: &$crate::provider::Provider,
            model: &str,
            shaped: &$crate::protocol::output::Shaped<'_>,
            prepared: $crate::protocol::Prepared<'_>,
        ) -> $crate::error::Result<$crate::protocol::Encoded> {
            encode::encode(call, provider, model, shaped, prepared)
        }
    };
    (@ place) => {
        fn place(
            &self,
            _: &$crate::provider::Provider,
            param: $crate::chat::Param,
        ) -> $crate::protocol::params::Place {
            params::place(param)
        }
    };
    (@ decoder) => {
        fn decoder(
            &self,
            context: $crate::protocol::DecodeContext,
        ) -> Box<dyn $crate::protocol::Decode> {
            Box::new(decode::Decoder::new(context))
        }
    };
    (@ encode_embed) => {
        fn encode_embed(
            &self,
            provider: &$crate::provider::Provider,
            model: &str,
            request: &$crate::chat::EmbedRequest,
            texts: &[String],
        ) -> $crate::error::Result<$crate::protocol::Encoded> {
            embed::encode(provider, model, request, texts)
        }
    };
    (@ models) => {
        fn encode_models(
            &self,
            provider: &$crate::provider::Provider,
            next: Option<&str>,
        ) -> $crate::error::Result<$crate::protocol::Encoded> {
            models::encode(provider, next)
        }

        fn decode_models(
            &self,
            provider: &$crate::provider::Provider,
            body: &[u8],
        ) -> $crate::error::Result<$crate::protocol::ModelPage> {
            models::decode(provider, body)
        }
    };
    (@ server) => {
        #[cfg(feature = "serve")]
        fn server(&self) -> &'static dyn $crate::protocol::serve::Serve {
            &serve::Server
        }
    };
}
pub(super) use delegate;

/// Returns the error of a protocol that has no call that counts tokens.
pub(super) fn no_count() -> Error {
    Error::new(ErrorKind::Unsupported, "this protocol cannot count tokens")
}

/// Returns the error of a response without a list of models: its own, if it has one.
pub(super) fn no_models(
    provider: &Provider,
    value: &Value,
    body: &[u8],
    error_in: impl FnOnce(&str, &[u8]) -> Error,
) -> Error {
    if value.get("error").is_some() || error_body::is_bare_error(body) {
        return error_in(&provider.name, body);
    }
    Error::new(ErrorKind::Protocol, "the response is not a list of models")
        .with_provider(provider.name.as_ref())
        .with_raw(body)
}

/// One message of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// The name of the event. Empty if it has none.
    pub(crate) event: &'a str,
    /// Its content.
    pub(crate) data: &'a [u8],
}

/// Whether a stream continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    /// The provider signalled the end. Whatever follows is ignored.
    Done,
}

/// Reads one response and emits its events.
pub(crate) trait Decode: fmt::Debug + Send {
    /// Reads the next frame of a stream.
    fn frame(&mut self, frame: &Frame<'_>, emitter: &mut Emitter) -> Result<Flow>;

    /// Ends a stream.
    ///
    /// # Errors
    ///
    /// When the provider had not signalled the end.
    fn finish(&mut self, emitter: &mut Emitter) -> Result<()>;

    /// Reads a complete body, in the same steps as a stream.
    fn body(&mut self, body: &[u8], emitter: &mut Emitter) -> Result<()>;

    /// Emits what the decoder holds back, before the partial response of a stream that was cut off is taken.
    fn settle(&mut self, _emitter: &mut Emitter) {}

    /// Returns where in the data of the last frame the text is that the frame added, if it did nothing else. Whatever else a frame with the
    /// same bytes around its text does must have no effect the second time.
    fn added_text(&self) -> Option<Range<usize>> {
        None
    }

    /// Returns the fields of a frame that have no effect, whatever they contain, in a frame that adds text.
    fn ignored_fields(&self) -> &'static [&'static str] {
        &[]
    }

    /// Adds text in the way the last frame did, which is the one of which [`added_text`](Self::added_text) reported the place.
    fn add_text(&mut self, _text: &str, _emitter: &mut Emitter) -> Result<()> {
        Ok(())
    }

    /// Returns whether a stream may also arrive as one JSON list of its frames.
    fn streams_lists(&self) -> bool {
        false
    }

    /// Returns whether a stream arrives as lines, each of which is a JSON object.
    fn streams_lines(&self) -> bool {
        false
    }
}

/// Reads the response to a chat call in any protocol, and checks the limits.
#[derive(Debug)]
pub(crate) struct ChatDecoder {
    decoder: Box<dyn Decode>,
    /// Made for the first frame that only adds text: a complete body has none.
    repeat: Option<Box<Repeat>>,
}

impl ChatDecoder {
    pub(crate) fn new(context: DecodeContext) -> Self {
        let decoder = super::codec(context.provider.protocol).decoder(context);
        Self { decoder, repeat: None }
    }

    /// Returns whether a stream may also arrive as one JSON list of its frames.
    pub(crate) fn streams_lists(&self) -> bool {
        self.decoder.streams_lists()
    }

    /// Returns whether a stream arrives as lines, each of which is a JSON object.
    pub(crate) fn streams_lines(&self) -> bool {
        self.decoder.streams_lines()
    }

    /// Emits what the decoder holds back, before the partial response of a stream that was cut off is taken.
    pub(crate) fn settle(&mut self, emitter: &mut Emitter) {
        self.decoder.settle(emitter);
    }

    /// Returns whether a frame need not be parsed.
    #[cfg(test)]
    pub(crate) fn is_repeated(&self, frame: &Frame<'_>) -> bool {
        self.repeat.as_ref().is_some_and(|repeat| repeat.text(frame).is_some())
    }

    /// Reads the next frame of a stream.
    pub(crate) fn frame(&mut self, frame: &Frame<'_>, emitter: &mut Emitter) -> Result<Flow> {
        emitter.receive(frame.data.len());
        if let Some(repeat) = &mut self.repeat {
            if let Some(text) = repeat.text(frame) {
                repeat.hit();
                self.decoder.add_text(text, emitter)?;
                emitter.check()?;
                return Ok(Flow::Continue);
            }
            repeat.clear();
        }
        if let Some(error) = exceptions::in_frame(emitter.provider(), frame) {
            return Err(error);
        }
        let flow = self.decoder.frame(frame, emitter)?;
        if let Some(place) = self.decoder.added_text() {
            let repeat = self.repeat.get_or_insert_default();
            repeat.keep(frame, place, self.decoder.ignored_fields());
        }
        emitter.check()?;
        Ok(flow)
    }

    /// Ends a stream.
    pub(crate) fn finish(&mut self, emitter: &mut Emitter) -> Result<()> {
        self.decoder.finish(emitter)
    }

    /// Reads a complete body.
    pub(crate) fn body(&mut self, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        emitter.receive(body.len());
        self.decoder.body(body, emitter)
    }
}
