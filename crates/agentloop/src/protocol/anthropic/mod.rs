//! Anthropic's Messages API, and the providers that implement it.

mod beta;
mod cache_markers;
mod citations;
mod decode;
mod encode;
mod growing;
mod message;
mod models;
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

use super::output::Shaped;
use super::params::Place;
#[cfg(feature = "serve")]
use super::serve::Serve;
use super::{
    Call, Codec, Decode, DecodeContext, Encoded, IdPattern, ModelPage, NamePattern, Order,
    Prepared, Rules, Shown,
};
use crate::chat::{ChatRequest, ContentPart, Param};
use crate::error::Result;
use crate::provider::Provider;
use crate::provider::model::ModelTraits;

/// Anthropic's messages.
pub(super) struct Anthropic;

impl Codec for Anthropic {
    fn conversation_rules<'a>(
        &self,
        provider: &'a Provider,
        model: &'a str,
        order: &'a Order,
    ) -> Rules<'a> {
        Rules {
            provider,
            model,
            ids: IdPattern::Word,
            names: NamePattern::Word128,
            thinking_as_text: false,
            items: false,
            order,
        }
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

    fn place(&self, _: &Provider, param: Param) -> Place {
        params::place(param)
    }

    fn decoder(&self, context: DecodeContext) -> Box<dyn Decode> {
        Box::new(Decoder::new(context))
    }

    fn decode_count(&self, provider: &Provider, body: &[u8]) -> Result<u64> {
        super::count::input_tokens(provider, body)
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

    fn has_json_mode(&self) -> bool {
        false
    }

    fn can_force_tools(&self, request: &ChatRequest, traits: &ModelTraits) -> bool {
        tools::may_force(request, traits)
    }
}
