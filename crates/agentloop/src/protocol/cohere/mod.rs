//! Cohere's own API, version 2, and the services that implement it.
//!
//! Sources, read on 2026-11-16: cohere SDK 7.3.1 for Python (`v2`), and the recordings of the wires `cohere-v2` and
//! `cohere-embed`.

mod citations;
mod decode;
mod documents;
mod embed;
mod encode;
mod growing;
mod message;
mod models;
mod params;
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
use crate::chat::{ContentPart, EmbedRequest, Param};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::Provider;

/// Cohere's API.
pub(super) struct Cohere;

impl Codec for Cohere {
    fn conversation_rules<'a>(
        &self,
        provider: &'a Provider,
        model: &'a str,
        order: &'a Order,
    ) -> Rules<'a> {
        Rules {
            provider,
            model,
            ids: IdPattern::Any,
            names: NamePattern::Word64,
            thinking_as_text: true,
            items: false,
            order,
        }
    }

    fn shows(&self, part: &ContentPart, provider: &Provider) -> Shown {
        message::shown(part, provider)
    }

    fn encode(
        &self,
        call: Call,
        provider: &Provider,
        _: &str,
        shaped: &Shaped<'_>,
        prepared: Prepared<'_>,
    ) -> Result<Encoded> {
        match call {
            Call::Chat => encode::chat(provider, shaped, prepared, false),
            Call::Stream => encode::chat(provider, shaped, prepared, true),
            Call::Count => Err(no_count()),
        }
    }

    fn place(&self, _: &Provider, param: Param) -> Place {
        params::place(param)
    }

    fn decoder(&self, context: DecodeContext) -> Box<dyn Decode> {
        Box::new(Decoder::new(context))
    }

    fn decode_count(&self, _: &Provider, _: &[u8]) -> Result<u64> {
        Err(no_count())
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

    fn encode_models(&self, provider: &Provider, next: Option<&str>) -> Result<Encoded> {
        models::encode(provider, next)
    }

    fn decode_models(&self, provider: &Provider, body: &[u8]) -> Result<ModelPage> {
        models::decode(provider, body)
    }

    #[cfg(feature = "serve")]
    fn server(&self) -> &'static dyn Serve {
        &serve::Server
    }
}

fn no_count() -> Error {
    Error::new(ErrorKind::Unsupported, "this protocol cannot count tokens")
}
