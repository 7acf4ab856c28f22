//! OpenAI's Chat Completions API, and the providers that implement it.

mod citations;
mod decode;
mod encode;
mod growing;
mod image_output;
mod message;
mod params;
mod parts;
#[cfg(feature = "serve")]
mod serve;
mod stream;
mod thinking;
mod tools;
mod usage;
mod wire;

use decode::Decoder;

use super::openai::encode::conversation_rules;
use super::openai::{embed, models};
use super::output::Shaped;
use super::params::Place;
#[cfg(feature = "serve")]
use super::serve::Serve;
use super::{
    Call, Codec, Decode, DecodeContext, Encoded, ModelPage, Order, Prepared, Rules, Shown,
};
use crate::chat::{ContentPart, EmbedRequest, Param};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::Provider;
use crate::provider::quirks::ThinkingForm;

/// OpenAI's chat completions.
pub(super) struct OpenAiChat;

impl Codec for OpenAiChat {
    fn conversation_rules<'a>(
        &self,
        provider: &'a Provider,
        model: &'a str,
        order: &'a Order,
    ) -> Rules<'a> {
        conversation_rules(provider, model, order, false)
    }

    fn shows(&self, part: &ContentPart, provider: &Provider) -> Shown {
        parts::shown(part, provider)
    }

    fn encode(
        &self,
        call: Call,
        provider: &Provider,
        model: &str,
        shaped: &Shaped<'_>,
        prepared: Prepared<'_>,
    ) -> Result<Encoded> {
        match call {
            Call::Chat => encode::chat(provider, model, shaped, prepared, false),
            Call::Stream => encode::chat(provider, model, shaped, prepared, true),
            // `ProtocolFacts::counted_in` names the protocol that counts for this one.
            Call::Count => {
                Err(Error::new(ErrorKind::Unsupported, "this protocol cannot count tokens"))
            }
        }
    }

    fn place(&self, provider: &Provider, param: Param) -> Place {
        params::place(&provider.quirks, param)
    }

    fn decoder(&self, context: DecodeContext) -> Box<dyn Decode> {
        Box::new(Decoder::new(context))
    }

    fn decode_count(&self, provider: &Provider, body: &[u8]) -> Result<u64> {
        super::count::input_tokens(provider, body)
    }

    fn encode_embed(
        &self,
        provider: &Provider,
        model: &str,
        request: &EmbedRequest,
        texts: &[String],
    ) -> Result<Encoded> {
        embed::encode(provider, model, request, texts)
    }

    #[cfg(feature = "serve")]
    fn server(&self) -> &'static dyn Serve {
        &serve::Server
    }

    fn encode_models(&self, provider: &Provider, next: Option<&str>) -> Result<Encoded> {
        models::encode(provider, next)
    }

    fn decode_models(&self, provider: &Provider, body: &[u8]) -> Result<ModelPage> {
        models::decode(provider, body)
    }

    fn describes_schemas(&self) -> bool {
        true
    }

    fn has_thinking_switch(&self, provider: &Provider) -> bool {
        !matches!(
            provider.quirks.thinking,
            ThinkingForm::EffortOnly | ThinkingForm::ReasoningFormat
        )
    }
}
