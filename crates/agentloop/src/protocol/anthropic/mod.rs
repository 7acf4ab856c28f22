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

use super::codec::{Codec, delegate};
use super::{IdPattern, NamePattern, Order, Rules};
use crate::chat::ChatRequest;
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
        let (ids, names) = (IdPattern::Word, NamePattern::Word128);
        Rules { provider, model, ids, names, thinking_as_text: false, items: false, order }
    }

    delegate!(shows, encode, place, decoder, models, server);

    fn has_json_mode(&self) -> bool {
        false
    }

    fn can_force_tools(&self, request: &ChatRequest, traits: &ModelTraits) -> bool {
        tools::may_force(request, traits)
    }
}
