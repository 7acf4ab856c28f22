//! OpenAI's Responses API, and the providers that implement it.

mod decode;
mod encode;
mod growing;
mod message;
mod params;
mod parts;
mod replay;
#[cfg(feature = "serve")]
mod serve;
mod stream;
mod thinking;
mod tool_results;
mod tools;
mod usage;
mod wire;
mod wire_item;

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
use crate::error::Result;
use crate::provider::Provider;

/// OpenAI's responses.
pub(super) struct OpenAiResponses;

impl Codec for OpenAiResponses {
    fn conversation_rules<'a>(
        &self,
        provider: &'a Provider,
        model: &'a str,
        order: &'a Order,
    ) -> Rules<'a> {
        conversation_rules(provider, model, order, true)
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
        encode::encode(call, provider, model, shaped, prepared)
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

    fn has_thinking_switch(&self, _: &Provider) -> bool {
        false
    }
}
