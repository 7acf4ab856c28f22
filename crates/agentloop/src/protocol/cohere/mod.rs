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

use super::codec::{Codec, delegate};
use super::{IdPattern, NamePattern, Order, Rules, Shown, StateForm};
use crate::chat::ContentPart;
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
        let (ids, names) = (IdPattern::Any, NamePattern::Word64);
        Rules {
            provider,
            model,
            ids,
            names,
            thinking_as_text: true,
            state: StateForm::Fields,
            order,
        }
    }

    fn shows(&self, part: &ContentPart, provider: &Provider) -> Shown {
        message::shown(part, provider)
    }

    delegate!(encode, place, decoder, encode_embed, models, server);
}
