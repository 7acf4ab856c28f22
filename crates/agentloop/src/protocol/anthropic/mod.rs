//! Anthropic's Messages API, and the providers that implement it.

mod beta;
mod cache_markers;
mod citations;
mod decode;
mod encode;
mod growing;
mod message;
mod model_path;
mod models;
mod params;
mod parts;
mod repeat;
#[cfg(feature = "serve")]
mod serve;
mod stream;
mod thinking;
mod tools;
mod usage;
mod wire;

#[cfg(feature = "serve")]
use bytes::Bytes;

#[cfg(feature = "serve")]
use super::Call;
use super::codec::{Codec, delegate};
use super::{Forms, IdPattern, NamePattern};
use crate::chat::ChatRequest;
use crate::provider::Provider;
use crate::provider::model::ModelTraits;
#[cfg(feature = "serve")]
use crate::provider::quirks::ModelPlace;

/// Anthropic's messages.
pub(super) struct Anthropic;

impl Codec for Anthropic {
    fn forms(&self, _: &Provider, _: &str) -> Forms {
        Forms { ids: IdPattern::Word, names: NamePattern::Word128, ..Forms::default() }
    }

    delegate!(shows, encode, place, decoder, models, server);

    #[cfg(feature = "serve")]
    fn adapt_relayed(&self, provider: &Provider, call: Call, body: Bytes) -> Bytes {
        match provider.quirks.model_place {
            ModelPlace::RawPredict => model_path::adapt(call, body),
            _ => body,
        }
    }

    fn has_json_mode(&self) -> bool {
        false
    }

    fn can_force_tools(&self, request: &ChatRequest, traits: &ModelTraits) -> bool {
        tools::may_force(request, traits)
    }
}
