//! Amazon Bedrock's Converse API.
//!
//! Sources, read on 2026-11-18: botocore 1.44.3 (`bedrock-runtime` of 2023-09-30, `bedrock` of 2023-04-20), ai-sdk amazon-bedrock
//! 4.0.186, and the recordings of the wire `bedrock-converse`.

mod cache_points;
mod citations;
mod decode;
mod encode;
mod error;
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
use http::HeaderMap;

use super::output::Shaped;
use super::params::Place;
#[cfg(feature = "serve")]
use super::serve::Serve;
use super::{
    Call, Codec, Decode, DecodeContext, Encoded, IdPattern, ModelPage, NamePattern, Order,
    Prepared, Rules, Shown,
};
use crate::chat::{ChatRequest, ContentPart, Param};
use crate::error::{Error, Result};
use crate::percent;
use crate::provider::Provider;
use crate::provider::model::ModelTraits;

/// Amazon Bedrock's Converse.
pub(super) struct Bedrock;

impl Codec for Bedrock {
    fn conversation_rules<'a>(
        &self,
        provider: &'a Provider,
        model: &'a str,
        order: &'a Order,
    ) -> Rules<'a> {
        Rules {
            provider,
            model,
            // Models with short ids take nothing but letters and digits.
            ids: match order.longest_id {
                Some((9, _)) => IdPattern::NineAlphanumeric,
                _ => IdPattern::Word,
            },
            names: NamePattern::Word64,
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
        usage::decode_count(provider, body)
    }

    fn encode_models(&self, provider: &Provider, _: Option<&str>) -> Result<Encoded> {
        models::encode(provider)
    }

    fn decode_models(&self, provider: &Provider, body: &[u8]) -> Result<ModelPage> {
        models::decode(provider, body)
    }

    fn decode_error(&self, provider: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
        error::decode(provider, status, headers, body)
    }

    fn decode_error_in_response(&self, provider: &str, body: &[u8]) -> Error {
        error::in_body(provider, body)
    }

    #[cfg(feature = "serve")]
    fn server(&self) -> &'static dyn Serve {
        &serve::Server
    }

    fn describes_schemas(&self) -> bool {
        true
    }

    fn has_json_mode(&self) -> bool {
        false
    }

    fn can_force_tools(&self, request: &ChatRequest, traits: &ModelTraits) -> bool {
        tools::may_force(request, traits)
    }
}

/// Returns the path of a call to a model. Names of models contain colons, and ARNs also slashes: both are encoded, so the name is one
/// segment.
fn model_path(model: &str, call: &str) -> String {
    ["/model/", &percent::encode_query_value(model), call].concat()
}
