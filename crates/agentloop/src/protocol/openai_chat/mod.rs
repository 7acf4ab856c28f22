//! OpenAI's Chat Completions API, and the providers that implement it.

mod citations;
mod decode;
mod encode;
mod growing;
mod image_output;
mod message;
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

use super::codec::{Codec, delegate};
use super::openai::encode::conversation_rules;
use super::openai::{embed, models};
use super::params::Place;
use super::{Order, Rules};
use crate::chat::Param;
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

    fn place(&self, provider: &Provider, param: Param) -> Place {
        params::place(&provider.quirks, param)
    }

    delegate!(shows, encode, decoder, encode_embed, models, server);

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
